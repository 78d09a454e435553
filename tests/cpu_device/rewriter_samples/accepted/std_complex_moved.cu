// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <complex>
__global__ void k(std::complex<float>* p) { p[1] = p[0]; }
void f(std::complex<float> a) { a = a * a; }
