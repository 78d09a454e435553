// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: `__shared__` variable `a` cannot have an initialiser
__global__ void k(int* p) { __shared__ int& a = *p; *p = a; }
