// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <complex>
__global__ void k(std::complex<float>* p) { auto q = p[0]; p[1] = q; }
