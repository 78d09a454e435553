// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

float f(float);
__global__ void k(float* p) { if constexpr (requires { f(*p); }) *p = 3; }
