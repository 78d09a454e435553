// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: `threadIdx.x` can only be read
__global__ void k(int* x) { threadIdx.x = 1; *x = threadIdx.x; }
