// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 7: `n` is a variable of the host
float f();
const float n = f();
__global__ void k(float* p) { *p = n; }
