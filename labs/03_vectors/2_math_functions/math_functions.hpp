// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 03.2 math_functions: the contract. What the program and the tests expect of math_functions.cu.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab::math_functions {

enum class function {
  sine,
  exponential,
  exponential10,  ///< 10 to the power x
  logarithm,      ///< to base e
  power,          ///< x to the power kExponent
};

/// Three ways to have each of them computed.
enum class precision {
  intrinsic,  ///< __sinf, __expf, __exp10f, __logf, __powf: few instructions, fewer digits
  single,     ///< sinf, expf, exp10f, logf, powf
  full,       ///< sin, exp, exp10, log, pow, in double
};

/// The power's exponent: a float, so that no version has to round it.
constexpr float kExponent = 2.5F;

struct result {
  std::vector<double> values;  ///< floats, too, become doubles without a change
  float kernel_ms = 0;         ///< the time of the kernel alone
};

/// f(x(first)), f(x(first + 1)), … f(x(first + n - 1)).
///
/// The argument x(i) goes around the circle in degrees, as an angle in radians: i % 360 times
/// kRadiansPerDegree. For the logarithm, which is infinite at 0, it is i % 360 + 1 degrees. It is
/// computed in float, for all precisions: one multiplication, one rounding. So all three get
/// exactly the same argument, and what they differ in is their own error.
///
/// n = 0 has no values. Throws lab::invalid_input when first + n is more than a std::size_t can
/// hold; lab::cuda_error when CUDA reports an error, such as too little memory. Neither leaves
/// device memory behind.
///
/// Requires: a kernel whose threads share the arguments, and compute the value of each: none is
/// copied from 360 elements before, or from a table. The host computes none.
///
/// From: the Kazan course on CUDA programming technology, chapter 5 (the program, the classroom
/// task and the homework).
result evaluate(function f, precision p, std::size_t first, std::size_t n);

/// pi / 180, as a float.
constexpr float kRadiansPerDegree = 0.0174532925F;

/// How far values are from what they should be.
struct errors {
  double mean = 0;        ///< of the absolute errors
  double max = 0;         ///< the largest of them, …
  std::size_t worst = 0;  ///< … and where it is; the first place, if there are several
};

/// The absolute errors |values[i] - exact[i]|. A difference that is not a number counts as
/// infinite: it is the worst error of all. Without values all errors are 0.
///
/// Throws lab::invalid_input when the lengths differ.
errors measure(std::span<const double> values, std::span<const long double> exact);

}  // namespace lab::math_functions
