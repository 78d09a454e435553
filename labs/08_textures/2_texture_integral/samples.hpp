// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 08.2 texture_integral: functions to take samples of (given).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace lab::texture_integral {

enum class integrand {
  bell,         ///< 4 / (1 + x²): from 0 to 1 its integral is π
  sine,         ///< sin x
  exponential,  ///< e^x
  half_circle,  ///< √(1 - x²), from -1 to 1 only; its slope is infinite at both ends
};

/// f(x). The product form of 1 - x² loses no digits next to 1.
inline long double value_of(integrand f, long double x) {
  switch (f) {
    case integrand::bell:
      return 4 / (1 + x * x);
    case integrand::sine:
      return std::sin(x);
    case integrand::exponential:
      return std::exp(x);
    case integrand::half_circle:
      return std::sqrt(std::max((1 - x) * (1 + x), 0.0L));
  }
  return 0;
}

/// The integral itself, by the antiderivative.
inline double exact(integrand f, double from, double to) {
  const auto antiderivative = [f](long double x) {
    switch (f) {
      case integrand::bell:
        return 4 * std::atan(x);
      case integrand::sine:
        return -std::cos(x);
      case integrand::exponential:
        return std::exp(x);
      case integrand::half_circle:
        return (x * std::sqrt(std::max((1 - x) * (1 + x), 0.0L)) + std::asin(x)) / 2;
    }
    return 0.0L;
  };
  return static_cast<double>(antiderivative(to) - antiderivative(from));
}

/// f in the middles of n equal panels, each rounded once, to a float.
inline std::vector<float> samples_of(integrand f, double from, double to, std::size_t n) {
  std::vector<float> samples(n);
  const long double width = (static_cast<long double>(to) - from) / static_cast<long double>(n);
  for (std::size_t i = 0; i < n; ++i)
    samples[i] =
        static_cast<float>(value_of(f, from + (static_cast<long double>(i) + 0.5L) * width));
  return samples;
}

}  // namespace lab::texture_integral
