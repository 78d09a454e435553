// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 08.2 texture_integral: what the results are compared with, and how far they may be from it.
#pragma once

#include <algorithm>
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
/// without a rounding. On its way into the result a sample goes through the additions of its
/// thread, n / 1024 rounded up or fewer (1024 threads, or one for each sample); then through 10
/// levels of a tree or fewer; then through one addition on the host for each block, which are at
/// most 1024, and at most n / 256 rounded up. Some more for h and the product: 30 covers the tree
/// and these. Each moves a sum by at most 2^-53 of the magnitude of what is added.
inline expectation reference(std::span<const float> samples, double from, double to) {
  long double sum = 0, magnitudes = 0;
  for (const float sample : samples) {
    sum += sample;
    magnitudes += std::fabs(sample);
  }
  const auto n = static_cast<double>(samples.size());
  const long double width = (static_cast<long double>(to) - from) / n;
  const auto magnitude = static_cast<double>(std::fabs(width) * magnitudes);
  const double roundings = std::ceil(n / 1024) + std::min(std::ceil(n / 256), 1024.0) + 30;
  return {static_cast<double>(width * sum), roundings * 0x1p-53 * magnitude, 0x1p-24 * magnitude};
}

}  // namespace lab::texture_integral
