// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 08.1 texture_1d: what the results are compared with, and how far they may be from it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "lab/closeness.hpp"
#include "texture_1d.hpp"

namespace lab::texture_1d {

/// What fetch() gives.
inline std::vector<float> reference_fetch(std::span<const float> texels,
                                          std::span<const int> indices) {
  std::vector<float> values;
  for (const int i : indices)
    values.push_back(i >= 0 && static_cast<std::size_t>(i) < texels.size()
                         ? texels[static_cast<std::size_t>(i)]
                         : 0.0F);
  return values;
}

/// T[i], inside and outside. `i` is a whole number.
inline double texel(std::span<const float> texels, const settings& sampling, double i) {
  const auto n = static_cast<double>(texels.size());
  if (sampling.address_mode == cudaAddressModeBorder && (i < 0 || i >= n)) return sampling.border;
  if (sampling.address_mode == cudaAddressModeWrap) i -= n * std::floor(i / n);
  if (sampling.address_mode == cudaAddressModeMirror) {
    i -= 2 * n * std::floor(i / (2 * n));
    i = std::min(i, 2 * n - 1 - i);
  }
  return texels[static_cast<std::size_t>(std::clamp(i, 0.0, n - 1))];
}

struct expectation {
  double value = 0;  ///< by the formula of the contract, with all digits of w
  double bound = 0;  ///< how far a float result may be from it
};

/// The formula, in double. What a linear filter may add to it, with the two texels that it mixes:
///
/// - w has 8 bits: a step of 1/256. Whether it is rounded or cut off is not said anywhere; either
///   way w is off by less than a step, and the result by less than 1/256 of their difference.
/// - u may be off by two roundings of a float (2^-24 of |u| each): the product with n, and the 0.5.
///   The line between any two texels is no steeper than their largest difference.
/// - Mixing in float: three operations, each off by at most 2^-24 of the larger texel.
///   Hardware need not do it in this order, and gets four times as much.
inline expectation reference_sample(std::span<const float> texels, const settings& sampling,
                                    float coordinate) {
  const double u = coordinate * (sampling.normalized ? static_cast<double>(texels.size()) : 1.0);
  if (sampling.filter == cudaFilterModePoint) return {texel(texels, sampling, std::floor(u)), 0};
  const double i = std::floor(u - 0.5), w = u - 0.5 - i;
  const double left = texel(texels, sampling, i), right = texel(texels, sampling, i + 1);
  double low = *std::min_element(texels.begin(), texels.end());
  double high = *std::max_element(texels.begin(), texels.end());
  if (sampling.address_mode == cudaAddressModeBorder) {
    low = std::min(low, static_cast<double>(sampling.border));
    high = std::max(high, static_cast<double>(sampling.border));
  }
  const double larger = std::max(std::fabs(left), std::fabs(right));
  return {(1 - w) * left + w * right, std::fabs(right - left) / 256 +
                                          2 * 0x1p-24 * (std::fabs(u) + 1) * (high - low) +
                                          12 * 0x1p-24 * larger};
}

/// Whether all values are what sample() is to give.
inline comparison compare_samples(std::span<const float> texels, const settings& sampling,
                                  std::span<const float> coordinates,
                                  std::span<const float> values) {
  if (values.size() != coordinates.size())
    return {false, std::to_string(coordinates.size()) + " coordinates have " +
                       std::to_string(values.size()) + " values"};
  std::size_t wrong = 0;
  std::string first;
  for (std::size_t k = 0; k < coordinates.size(); ++k) {
    const auto [value, bound] = reference_sample(texels, sampling, coordinates[k]);
    const auto one = compare(values[k], value, {.absolute = bound});
    if (!one && wrong++ == 0) first = "at " + std::to_string(coordinates[k]) + ": " + one.message;
  }
  if (wrong == 0) return {true, "all " + std::to_string(coordinates.size()) + " coordinates match"};
  return {false, std::to_string(wrong) + " of " + std::to_string(coordinates.size()) +
                     " coordinates differ; the first " + first};
}

}  // namespace lab::texture_1d
