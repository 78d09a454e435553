// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: is no kernel, and only kernels have
__device__ __launch_bounds__(32) void k(int* p) { *p = 1; }
