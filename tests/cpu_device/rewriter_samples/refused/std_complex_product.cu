// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: the operators of `std::complex` are functions of the host
#include <complex>
__global__ void k(float* p) { std::complex<float> a(1, 2); *p = (a * a).real(); }
