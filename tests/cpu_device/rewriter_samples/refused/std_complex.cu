// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: the members of `std::complex` are functions of the host
#include <complex>
__global__ void k(int* p) { std::complex<float> s{1, 2}; *p = s.real(); }
