// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 04.1 julia_set: what the results are compared with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "julia_set.hpp"
#include "lab/closeness.hpp"

namespace lab::julia_set {

/// The number of iterations that pixel (x, y) survives; plain floats, one after the other.
inline int reference_at(const view& region, int x, int y) {
  const float half = static_cast<float>(std::min(region.width, region.height)) / 2;
  const float right = static_cast<float>(region.width) / 2 - static_cast<float>(x);
  const float up = static_cast<float>(region.height) / 2 - static_cast<float>(y);
  float re = region.scale * right / half + region.centre_x;
  float im = region.scale * up / half + region.centre_y;

  int survived = 0;
  while (survived < region.max_iterations) {
    const float re_squared = re * re, im_squared = im * im, product = re * im;
    re = re_squared - im_squared + region.c_re;
    im = product + product + region.c_im;
    if (re * re + im * im > kEscaped) break;
    ++survived;
  }
  return survived;
}

/// All pixels, row by row from the top. `region` is a valid one.
inline std::vector<int> reference(const view& region) {
  std::vector<int> iterations;
  iterations.reserve(static_cast<std::size_t>(region.width) *
                     static_cast<std::size_t>(region.height));
  for (int y = 0; y < region.height; ++y)
    for (int x = 0; x < region.width; ++x) iterations.push_back(reference_at(region, x, y));
  return iterations;
}

/// Compares `iterations` with the reference, and says which pixel is the first wrong one.
inline comparison compare_with_reference(const view& region, const std::vector<int>& iterations) {
  const std::vector<int> expected = reference(region);
  comparison result = compare_exact(iterations, expected);
  if (!result.ok && iterations.size() == expected.size()) {
    const auto first = std::ranges::mismatch(iterations, expected).in1 - iterations.begin();
    result.message += "; this is pixel (" + std::to_string(first % region.width) + ", " +
                      std::to_string(first / region.width) + ")";
  }
  return result;
}

}  // namespace lab::julia_set
