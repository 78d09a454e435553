// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 03.2 math_functions: what the results are compared with, and how far they may be from it.
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include "math_functions.hpp"

namespace lab::math_functions {

/// x(i), as the contract has it.
inline float argument(function f, std::size_t i) {
  const std::size_t degrees = i % 360 + (f == function::logarithm ? 1 : 0);
  return static_cast<float>(degrees) * kRadiansPerDegree;
}

/// f(x) with more digits than a double has, where the processor can: on x86 a long double has 64
/// binary digits to the double's 53. A reference in double could not show the errors of double.
inline long double exact(function f, float x) {
  const auto wide = static_cast<long double>(x);
  switch (f) {
    case function::sine:
      return std::sin(wide);
    case function::exponential:
      return std::exp(wide);
    case function::exponential10:
      return std::pow(10.0L, wide);
    case function::logarithm:
      return std::log(wide);
    case function::power:
      return std::pow(wide, static_cast<long double>(kExponent));
  }
  return 0;
}

/// The exact values for `first`, `first + 1`, …: only 360 are different.
inline std::vector<long double> reference(function f, std::size_t first, std::size_t n) {
  std::vector<long double> once(360), values(n);
  for (std::size_t degrees = 0; degrees < 360; ++degrees)
    once[degrees] = exact(f, argument(f, degrees));
  for (std::size_t i = 0; i < n; ++i) values[i] = once[(first + i) % 360];
  return values;
}

/// A unit in the last place: the distance between neighbouring floats (24 digits) or doubles (53)
/// near y.
inline double ulp(long double y, int digits) {
  if (y == 0) return std::ldexp(1.0, digits == 24 ? -149 : -1074);
  return std::ldexp(1.0, std::ilogb(y) - (digits - 1));
}

/// How far a result may be from exact(f, x), at most.
///
/// These are the numbers that NVIDIA documents: for functions, and for intrinsics other than
/// __powf, in the tables on mathematical functions of the CUDA C++ Programming Guide; for __sinf
/// beyond pi, of the instruction it consists of, sin.approx.f32, in the PTX ISA. Where editions
/// differ, it is the larger number. Numbers in ulp are the distance from the *correctly rounded*
/// result there, so half an ulp is added for that rounding.
inline double error_bound(function f, precision p, float x) {
  const long double y = exact(f, x);
  const double size = std::fabs(static_cast<double>(x));
  const auto ulps = [y](double count, int digits) { return (count + 0.5) * ulp(y, digits); };

  if (p == precision::intrinsic) {
    const bool near_one = 0.5F <= x && x <= 2.0F;
    switch (f) {
      case function::sine:
        return size <= std::numbers::pi ? std::exp2(-21.41) : std::exp2(-20.5);
      case function::exponential:
        return ulps(2 + std::floor(1.173 * size), 24);
      case function::exponential10:
        return ulps(2 + std::floor(2.97 * size), 24);
      case function::logarithm:
        return near_one ? std::exp2(-21.41) : ulps(3, 24);
      case function::power: {
        // Documented only as 2 to the power of kExponent * __log2f(x). So: the error of __log2f
        // (2^-22 near 1, else 2 ulp) times the exponent, and the rounding of the product. An error
        // d of a power of 2 changes the result by d ln 2 of itself. Last, 2 ulp for the power.
        if (x == 0) return 0;
        const double log = std::log2(size);
        const double log_error = near_one ? 0x1p-22 : 2.5 * ulp(log, 24);
        const double product_error =
            kExponent * log_error + 0.5 * ulp(kExponent * std::fabs(log) + 0x1p-20, 24);
        return product_error * std::numbers::ln2 * static_cast<double>(y) + ulps(2, 24);
      }
    }
  }
  struct {
    double single, full;
  } documented{};
  switch (f) {
    case function::sine:
      documented = {2, 2};
      break;
    case function::exponential:
      documented = {2, 1};
      break;
    case function::exponential10:
      documented = {2, 2};  // 1 on a GPU; 2 is glibc's, which the CPU device uses
      break;
    case function::logarithm:
      documented = {1, 1};
      break;
    case function::power:
      documented = {8, 2};
      break;
  }
  return p == precision::single ? ulps(documented.single, 24) : ulps(documented.full, 53);
}

}  // namespace lab::math_functions
