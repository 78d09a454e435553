// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: `blockDim.x` can only be read
__global__ void k(int* x) { blockDim.x++; *x = blockDim.x; }
