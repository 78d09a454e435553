// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: kernel `k` returns a value
__global__ int k(int* p) { return *p; }
