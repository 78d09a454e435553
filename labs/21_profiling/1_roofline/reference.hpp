// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 21.1 roofline: the same on the host, and what is known of the course's kernels.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "roofline.hpp"

namespace lab::roofline {

/// std::fma rounds once, as the device does: nothing may differ.
inline std::vector<float> reference(std::span<const float> values, unsigned rounds) {
  std::vector<float> result(values.begin(), values.end());
  for (float& y : result)
    for (unsigned i = 0; i < rounds; ++i) y = std::fma(kScale, y, kShift);
  return result;
}

/// Operations per byte, as the site's explorer has them (site/static/explorers/roofline.js;
/// tests/tools/explorer_numbers_test.py compares the two).
struct known_kernel {
  course kernel;
  const char* name;
  double intensity;
};
inline constexpr known_kernel kCourse[] = {
    {course::vector_add, "03.1 vector_add", 1.0 / 12},
    {course::dot_product, "05.1 dot_product", 2.0 / 8},
    {course::heat_transfer, "08.4 heat_transfer", 7.0 / 12},
    {course::tile_16, "06.5 tile_16", 4},
    {course::tile_32, "06.5 tile_32", 8},
    {course::tile_128, "06.5 double_buffered", 32},
};

/// What NVIDIA's data sheet says of an H200: for the CPU device, which has no roof of its own.
inline constexpr ceilings kDataSheet{4800e9, 67'000e9};

}  // namespace lab::roofline
