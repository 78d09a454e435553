// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: has a size that is known only when the program runs
__global__ void k(float* p) { const int n = blockDim.x; float a[n]; a[0] = *p; *p = a[0]; }
