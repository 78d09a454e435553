// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 08.2 texture_integral: functions to take samples of (given).
#pragma once

#include <cstddef>
#include <vector>

#include "../../05_shared_memory/5_integrals/reference.hpp"

namespace lab::texture_integral {

using integrals::exact;
using integrals::integrand;

/// f in the middles of n equal panels, each rounded once, to a float.
inline std::vector<float> samples_of(integrand f, double from, double to, std::size_t n) {
  std::vector<float> samples(n);
  const long double width = (static_cast<long double>(to) - from) / static_cast<long double>(n);
  for (std::size_t i = 0; i < n; ++i)
    samples[i] = static_cast<float>(
        integrals::value_of(f, from + (static_cast<long double>(i) + 0.5L) * width));
  return samples;
}

}  // namespace lab::texture_integral
