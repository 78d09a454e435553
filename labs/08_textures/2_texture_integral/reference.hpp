// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 08.2 texture_integral: what the results are compared with, and how far they may be from it.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>

namespace lab::texture_integral {

struct expectation {
  double value = 0;  ///< what the rule gives for these samples
  double bound = 0;  ///< how far a result in double may be from it
  /// How far the samples' own rounding to float may have moved the rule's result: 2^-24 of each.
  double sampling = 0;
};

/// The rule on the host, in long double.
///
/// The texture's part of the bound is 0: tex1Dfetch does not filter, and a float becomes a double
/// without a rounding. On its way into the result a sample goes through at most n / 1024, rounded
/// up, additions of its thread (1024 threads or more), 10 levels of a tree, and on the host one
/// addition for each block: a few hundred, or n / 1024 again, where there are so many. Some more
/// for h and the product: 30 covers the tree and these. Each moves a sum by at most 2^-53 of the
/// magnitude of what is added.
inline expectation reference(std::span<const float> samples, double from, double to) {
  long double sum = 0, magnitudes = 0;
  for (const float sample : samples) {
    sum += sample;
    magnitudes += std::fabs(sample);
  }
  const auto n = static_cast<double>(samples.size());
  const long double width = (static_cast<long double>(to) - from) / n;
  const auto magnitude = static_cast<double>(std::fabs(width) * magnitudes);
  const double roundings = 2 * std::ceil(n / 1024) + 30;
  return {static_cast<double>(width * sum), roundings * 0x1p-53 * magnitude, 0x1p-24 * magnitude};
}

}  // namespace lab::texture_integral
