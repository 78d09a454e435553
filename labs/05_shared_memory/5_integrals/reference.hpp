// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.5 integrals: what the results are compared with, and how far they may be from it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "integrals.hpp"

namespace lab::integrals {

/// f(x). The product form of 1 - x² loses no digits next to 1.
inline long double value_of(integrand f, long double x) {
  switch (f) {
    case integrand::bell:
      return 4 / (1 + x * x);
    case integrand::sine:
      return std::sin(x);
    case integrand::exponential:
      return std::exp(x);
    case integrand::cubic:
      return ((4 * x - 3) * x + 2) * x - 1;
    case integrand::half_circle:
      return std::sqrt(std::max((1 - x) * (1 + x), 0.0L));
  }
  return 0;
}

/// The integral itself, from a to b, by the antiderivative.
inline double exact(integrand f, double a, double b) {
  const auto antiderivative = [f](long double x) {
    switch (f) {
      case integrand::bell:
        return 4 * std::atan(x);
      case integrand::sine:
        return -std::cos(x);
      case integrand::exponential:
        return std::exp(x);
      case integrand::cubic:
        return (((x - 1) * x + 1) * x - 1) * x;
      case integrand::half_circle:
        return (x * std::sqrt(std::max((1 - x) * (1 + x), 0.0L)) + std::asin(x)) / 2;
    }
    return 0.0L;
  };
  return static_cast<double>(antiderivative(b) - antiderivative(a));
}

struct expectation {
  double value = 0;  ///< what the rule gives
  double bound = 0;  ///< how far a result in double may be from it
};

/// The same rule on the host, in long double, and what the roundings of doubles may add to it.
/// With u = 2^-53, the largest relative error of one rounding:
///
/// Sums. On its way into the result, a panel's value goes through the additions of its thread,
/// n / 1024 rounded up or fewer (1024 threads, or one for each panel); then through 10 levels of a
/// tree or fewer; then through one addition on the host for each block, which are at most 1024, and
/// at most n / 256 rounded up. Some 20 more are for the function, the rule and the width. Each
/// moves it by at most u of the magnitude of what is added; a polynomial's magnitude is that of its
/// terms, since they may cancel.
///
/// Places. With M = max(|a|, |b|), a panel's left edge a + i * h is off by at most 7 * u * M: two
/// roundings in h and one in the product, of |b - a| <= 2 * M, and one in the sum; its middle and
/// its right edge by one more. (A fused multiply-add saves one.) So f is taken at most
/// shift = 8 * u * M beside the right place, and moves by shift times its slope, all together by
/// shift * |b - a| * the largest slope.
/// The slope of the half circle has no largest value. But it falls away from the ends, so that the
/// panels' h * slope add up to less than twice what f rises and falls, 2; and at the ends
/// themselves √(1 - x²) moves by less than √(3 * shift), with a weight of at most h.
inline expectation reference(rule quadrature, integrand f, double a, double b, std::size_t n) {
  const auto magnitude = [f](long double x) {
    const long double s = std::fabs(x);
    return f == integrand::cubic ? ((4 * s + 3) * s + 2) * s + 1 : std::fabs(value_of(f, x));
  };
  const auto panel = [quadrature](auto at, long double left, long double right) {
    switch (quadrature) {
      case rule::midpoint:
        return at((left + right) / 2);
      case rule::trapezoid:
        return (at(left) + at(right)) / 2;
      case rule::simpson:
        return (at(left) + 4 * at((left + right) / 2) + at(right)) / 6;
    }
    return 0.0L;
  };
  const long double from = a, width = (static_cast<long double>(b) - a) / static_cast<double>(n);
  long double sum = 0, magnitudes = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const long double left = from + static_cast<long double>(i) * width;
    const long double right = from + static_cast<long double>(i + 1) * width;
    sum += panel([f](long double x) { return value_of(f, x); }, left, right);
    magnitudes += panel(magnitude, left, right);
  }

  constexpr double u = 0x1p-53;
  const double h = std::fabs(static_cast<double>(width));
  const double largest = std::max(std::fabs(a), std::fabs(b));
  const double shift = 8 * u * largest;
  const auto positions = [&] {
    const double length = h * static_cast<double>(n);
    switch (f) {
      case integrand::bell:
        return shift * length * 2.6;  // 3√3 / 2, at x = 1/√3
      case integrand::sine:
        return shift * length;
      case integrand::exponential:
        return shift * length * std::exp(std::max(a, b));
      case integrand::cubic:
        return shift * length * ((12 * largest + 6) * largest + 2);
      case integrand::half_circle:
        return shift * 4 + h * std::sqrt(3 * shift);
    }
    return 0.0;
  };
  const auto panels = static_cast<double>(n);
  const double roundings =
      std::ceil(panels / 1024) + std::min(std::ceil(panels / 256), 1024.0) + 30;
  return {static_cast<double>(width * sum),
          roundings * u * h * static_cast<double>(magnitudes) + positions()};
}

}  // namespace lab::integrals
