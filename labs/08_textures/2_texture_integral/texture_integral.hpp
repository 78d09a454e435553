// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 08.2 texture_integral: the contract. What the program and the tests expect of
// texture_integral.cu.
#pragma once

#include <cstddef>
#include <span>

namespace lab::texture_integral {

/// How many samples the program takes unless it is told otherwise.
inline constexpr std::size_t kDefaultSize = 1'000'000;

struct result {
  double value = 0;
  float kernel_ms = 0;  ///< the time of the kernel alone
};

/// The midpoint rule for a function of which only samples are known, in the middles of n equal
/// panels: h * (samples[0] + samples[1] + … + samples[n - 1]), with h = (to - from) / n. Any n.
/// Where from = to the result is 0; where from > to, h is negative.
///
/// The kernel reads the samples through a texture over linear memory, and adds in double.
///
/// Accuracy: at most reference(…).bound (reference.hpp) from what the rule gives for these samples;
/// any way that adds in double, with a thread for each sample, or 1024 threads or more in 1024
/// blocks at most, stays within. The texture adds no error: what it gives is the float that was
/// stored. Where all sums are whole numbers below 2^53 and h is 1, nothing is rounded and the
/// result is exact. A sample that is no number makes the result none.
///
/// Throws lab::invalid_input when there are no samples, or more than a texture over linear memory
/// can have on this device (most_texels_in_linear_memory() of lab/texture.hpp), and when from, to
/// or to - from is not finite; lab::cuda_error when CUDA reports an error. Neither leaves memory or
/// a texture object behind.
///
/// Requires: a kernel whose threads share the sum, where there are thousands of samples in four
/// blocks or more, and read the samples through a texture object; the host adds what the blocks
/// have.
///
/// From: the classroom task of the Kazan course on CUDA programming technology, chapter 8.
result integrate(std::span<const float> samples, double from, double to);

}  // namespace lab::texture_integral
