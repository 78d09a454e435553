// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
__global__ void k(float* p) { *p = std::sin(*p) + std::sqrt(*p) + std::abs(*p) + std::pow(*p, 2.f) + std::fma(*p, *p, *p) + std::floor(*p) + std::isnan(*p) + std::fabs(*p) + std::exp(*p) + std::hypot(*p, *p) + std::fmax(*p, *p) + std::log2(*p) + std::round(*p) + std::cbrt(*p) + std::tanh(*p) + std::isfinite(*p) + std::signbit(*p) + std::copysign(*p, *p) + std::trunc(*p) + std::fmod(*p, *p) + std::isinf(*p) + std::lround(*p) + std::rint(*p) + std::erf(*p) + std::tgamma(*p) + std::atan2(*p, *p) + std::ldexp(*p, 2) + std::nearbyint(*p) + std::remainder(*p, *p); }
