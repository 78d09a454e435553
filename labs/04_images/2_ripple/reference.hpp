// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 04.2 ripple: what the results are compared with.
#pragma once

#include <cmath>
#include <cstddef>
#include <string>

#include "lab/bitmap.hpp"
#include "lab/closeness.hpp"

namespace lab::ripple {

/// The grey of pixel (x, y) with all digits after the point; plain doubles.
inline double reference_at(int width, int height, int tick, int x, int y) {
  const double d = std::hypot(x - width / 2.0, y - height / 2.0);
  return 128 + 127 * std::cos(d / 10 - tick / 7.0) / (d / 10 + 1);
}

// How far may a grey in floats be from that, before the digits after the point are dropped? Let
// e = 2^-24, the largest relative error of one rounding, and u = d / 10.
//   u: two squares and their sum 2 e, halved by the root, the root e, the division e: 3 u e
//   phase: less than 2 pi, so stored to within 4 e
//   u - phase: rounded once more, (u + 2 pi) e
// The cosine is off by no more than its argument is. Divided by u + 1, the three are largest at
// u = 0: 11 e. The cosine itself adds 2 e (two units in the last place, says NVIDIA's table),
// u + 1, the product and the quotient 6 e. That times 127, plus the last sum's rounding, 128 e,
// is below 20 * 128 e. The double calculations add less than 128 e, for the largest ticks.
inline constexpr double kSlack = 21 * 128 * 0x1p-24;  // 0.00016

/// Compares every pixel. Where the reference is not within kSlack of a whole number, there is only
/// one right grey; where it is, there are two, one level apart.
inline comparison compare_with_reference(const bitmap& picture, int width, int height, int tick) {
  if (picture.width() != width || picture.height() != height)
    return {false, "the picture has " + std::to_string(picture.width()) + " x " +
                       std::to_string(picture.height()) + " pixels, expected " +
                       std::to_string(width) + " x " + std::to_string(height)};
  std::size_t wrong = 0;
  std::string first;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const double expected = reference_at(width, height, tick, x, y);
      const rgba pixel = picture.at(x, y);
      const bool right = pixel.g == pixel.r && pixel.b == pixel.r && pixel.a == 255 &&
                         pixel.r >= std::floor(expected - kSlack) &&
                         pixel.r <= std::floor(expected + kSlack);
      if (right || wrong++ != 0) continue;
      const std::string grey = std::to_string(static_cast<int>(expected));
      first = "x = " + std::to_string(x) + ", y = " + std::to_string(y) + ": got (" +
              std::to_string(pixel.r) + ", " + std::to_string(pixel.g) + ", " +
              std::to_string(pixel.b) + ", " + std::to_string(pixel.a) + "), expected (" + grey +
              ", " + grey + ", " + grey + ", 255)";
    }
  }
  const std::size_t count = picture.pixels().size();
  if (wrong != 0)
    return {false, "tick " + std::to_string(tick) + ": " + std::to_string(wrong) + " of " +
                       std::to_string(count) + " pixels differ; first at " + first};
  return {true, "tick " + std::to_string(tick) + ": all " + std::to_string(count) +
                    " pixels have the reference's grey"};
}

}  // namespace lab::ripple
