// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 02.3 quarter_circle_pi: the contract. What the program and the tests expect of
// quarter_circle_pi.cu.
#pragma once

#include <cstddef>

namespace lab::quarter_circle_pi {

/// The grid is always the same: 64 blocks of 256 threads, each with a partial sum of its own.
constexpr unsigned kBlocks = 64;
constexpr unsigned kThreads = 256;
constexpr std::size_t kPartialSums = std::size_t{kBlocks} * kThreads;

/// The program's strips unless it is told otherwise.
constexpr std::size_t kDefaultStrips = 10'000'000;

/// More strips than this are not accepted.
constexpr std::size_t kMostStrips = std::size_t{1} << 40;

/// The type of number that the device calculates with.
enum class precision { in_float, in_double };

struct result {
  double pi = 0;
  float kernel_ms = 0;  ///< the time of the kernel alone
};

/// Four times the area of a quarter of the unit circle, cut into `strips` strips of equal width.
/// Each counts as a rectangle, as high as the circle is above the strip's middle:
///
///     pi = 4 * sum of sqrt(1 - x * x) / strips,  with x = (i + 1/2) / strips,  i = 0 … strips - 1
///
/// The device adds up the heights, kPartialSums partial sums of them; the host adds these, in
/// double. On the device everything has the type that was asked for.
///
/// Accuracy: at most rounding_bound() (reference.hpp) from the formula, and so at most
/// error_bound() from pi.
///
/// Throws lab::invalid_input unless 1 <= strips <= kMostStrips; lab::cuda_error when CUDA reports
/// an error. Neither leaves device memory behind.
///
/// Requires: a kernel of kPartialSums threads, each with the sum of its own strips; the host adds
/// only these.
///
/// From: the Kazan course on CUDA programming technology, chapter 3.
result estimate(precision type, std::size_t strips);

}  // namespace lab::quarter_circle_pi
