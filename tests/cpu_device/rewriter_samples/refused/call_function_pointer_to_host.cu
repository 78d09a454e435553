// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `two` is a function of the host
float two(float x) { return 2 * x; }
__global__ void k(float* p) { float (*f)(float) = two; *p = f(*p); }
