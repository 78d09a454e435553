// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: `threadIdx` has no address
__global__ void k(int* x) { const unsigned* p = &threadIdx.x; *x = *p; }
