// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: kernel `k` is `__global__`, which goes with neither `__device__` nor `__host__`
__global__ __host__ void k(int* p) { *p = 1; }
