// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: kernel `k` returns a value
__global__ auto k(int* p) -> int { *p = 1; return 1; }
