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
inline int reference_at(const view& what, int x, int y) {
  const float half = static_cast<float>(std::min(what.width, what.height)) / 2;
  const float right = static_cast<float>(what.width) / 2 - static_cast<float>(x);
  const float up = static_cast<float>(what.height) / 2 - static_cast<float>(y);
  float re = what.scale * right / half + what.centre_x;
  float im = what.scale * up / half + what.centre_y;

  int survived = 0;
  while (survived < what.max_iterations) {
    const float re_squared = re * re, im_squared = im * im, product = re * im;
    re = re_squared - im_squared + what.c_re;
    im = product + product + what.c_im;
    if (re * re + im * im > kEscaped) break;
    ++survived;
  }
  return survived;
}

/// All pixels, row by row from the top. The view is a good one.
inline std::vector<int> reference(const view& what) {
  std::vector<int> iterations;
  iterations.reserve(static_cast<std::size_t>(what.width) * static_cast<std::size_t>(what.height));
  for (int y = 0; y < what.height; ++y)
    for (int x = 0; x < what.width; ++x) iterations.push_back(reference_at(what, x, y));
  return iterations;
}

/// Compares `iterations` with the reference, and says which pixel is the first wrong one.
inline comparison compare_with_reference(const view& what, const std::vector<int>& iterations) {
  const std::vector<int> expected = reference(what);
  comparison result = compare_exact(iterations, expected);
  if (!result.ok && iterations.size() == expected.size()) {
    const auto first = std::ranges::mismatch(iterations, expected).in1 - iterations.begin();
    result.message += "; this is pixel (" + std::to_string(first % what.width) + ", " +
                      std::to_string(first / what.width) + ")";
  }
  return result;
}

}  // namespace lab::julia_set
