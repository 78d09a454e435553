// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <complex>
__global__ void k(float* p) { std::complex<float> a(1, 2); *p = (a * a).real(); }
