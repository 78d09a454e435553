// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 02.3 quarter_circle_pi: what the result is compared with, and how far it may be from it.
#pragma once

#include <cmath>
#include <cstddef>

#include "quarter_circle_pi.hpp"

namespace lab::quarter_circle_pi {

/// The formula, strip by strip, in long double.
inline double reference(std::size_t strips) {
  const auto n = static_cast<long double>(strips);
  long double sum = 0;
  for (std::size_t i = 0; i < strips; ++i) {
    const long double x = (static_cast<long double>(i) + 0.5L) / n;
    sum += std::sqrt((1 - x) * (1 + x));
  }
  return static_cast<double>(4 * sum / n);
}

/// How far the formula is from pi: at most 2 / n^(3/2), and never below it.
///
/// Let h = 1/n, and number the strips from the right: strip k lies between 1 - (k+1)h and 1 - kh.
/// The circle f(x) = sqrt(1 - x²) bends downwards, so its tangent in the middle of a strip lies
/// above it, and the rectangle, which has the tangent's area, is too large. By how much?
/// - Strips k >= 1: at most h³/24 times the largest |f''| there. |f''| = (1 - x²)^(-3/2), and
///   1 - x² = (1 - x)(1 + x) >= kh. That makes h^(3/2)/24 * k^(-3/2), and the sum of all k^(-3/2)
///   is zeta(3/2) < 2.62: together less than 0.11 h^(3/2).
/// - Strip 0, where f'' has no bound: the rectangle has h * sqrt(h - h²/4), and the circle has more
///   than the triangle below it, h/2 * sqrt(2h - h²). The difference is less than 0.37 h^(3/2).
/// Four quarters: less than 2 h^(3/2). So ten times as many strips give 1.5 digits more.
inline double truncation_bound(std::size_t strips) {
  return 2 * std::pow(static_cast<double>(strips), -1.5);
}

/// How far the computed value may be from the formula. u is what a rounding moves a number by: at
/// most 2^-24 of itself for floats, 2^-53 for doubles.
///
/// - x goes through four roundings: those of i, of i + 1/2, of n, and of the quotient: it is off by
///   at most 4u, x² by 8u; rounding x² and the difference makes 1 - x² off by at most 10u.
/// - The root of y is then off by at most 10u / sqrt(y). With y >= 1 - x, the sum of h / sqrt(y)
///   for all strips is at most 2, so all roots together are off by at most 20u, whatever n is; and
///   by their own rounding, u times the area.
/// - A thread adds at most m = n / kPartialSums heights, rounded up. Each addition moves the sum by
///   u of itself: m * u times the area. The host adds kPartialSums numbers in double and
///   multiplies: (kPartialSums + 3) * 2^-53 times the area.
/// The area is at most 0.87 (for n = 1). Four quarters of all that, to first order:
inline double rounding_bound(precision type, std::size_t strips) {
  const double u = type == precision::in_float ? 0x1p-24 : 0x1p-53;
  const double m = static_cast<double>((strips + kPartialSums - 1) / kPartialSums);
  const double area = 0.87;
  const double first_order =
      4 * (20 * u + area * ((m + 1) * u + static_cast<double>(kPartialSums + 3) * 0x1p-53));
  return 1.01 * first_order;  // the rest of the series is less than a hundredth of it
}

/// How far the computed value may be from pi.
inline double error_bound(precision type, std::size_t strips) {
  return truncation_bound(strips) + rounding_bound(type, strips);
}

}  // namespace lab::quarter_circle_pi
