// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 09.1 gl_image: what the picture is compared with.
#pragma once

#include <cmath>
#include <cstddef>
#include <string>

#include "lab/bitmap.hpp"
#include "lab/closeness.hpp"

namespace lab::gl_image {

/// The green of pixel (x, y) with all digits after the point; plain doubles.
inline double reference_green(int width, int height, int x, int y) {
  const double fx = static_cast<double>(x) / width - 0.5;
  const double fy = static_cast<double>(y) / height - 0.5;
  return 128 + 127 * std::sin(std::fabs(100 * fx) - std::fabs(100 * fy));
}

// How far may a green in floats be from that, before the digits after the point are dropped? Let
// e = 2^-24, the largest relative error of one rounding.
//   fx: x / width is at most 1 and rounded, e; the difference is at most 1/2 and rounded, e / 2
//   100 * fx: 100 times that, and at most 50 rounded, 50 e: 200 e in all; as much for fy
//   their difference is at most 50 and rounded: 50 e. The sine's argument: 450 e
// A sine is off by no more than its argument is, and by two units in its last place, 4 e, says
// NVIDIA's table. That times 127, the product's rounding, 127 e, and the sum's, 255 e, is below
// 58100 e; the calculation in doubles adds much less than e.
inline constexpr double kSlack = 58200 * 0x1p-24;  // 0.0035

/// Compares every pixel. Red, blue and opacity have to be equal; so has the green, but where the
/// reference is within kSlack of a whole number: there it may be one of two neighbours.
inline comparison compare_with_reference(const bitmap& picture, int width, int height) {
  if (picture.width() != width || picture.height() != height)
    return {false, "the picture has " + std::to_string(picture.width()) + " x " +
                       std::to_string(picture.height()) + " pixels, expected " +
                       std::to_string(width) + " x " + std::to_string(height)};
  const auto text = [](int r, int g, int b, int a) {
    return "(" + std::to_string(r) + ", " + std::to_string(g) + ", " + std::to_string(b) + ", " +
           std::to_string(a) + ")";
  };
  std::size_t wrong = 0;
  std::string first;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const double green = reference_green(width, height, x, y);
      const int blue = 255 * y / height;
      const rgba pixel = picture.at(x, y);
      const bool right = pixel.r == 0 && pixel.b == blue && pixel.a == 255 &&
                         pixel.g >= std::floor(green - kSlack) &&
                         pixel.g <= std::floor(green + kSlack);
      if (right || wrong++ != 0) continue;
      first = "x = " + std::to_string(x) + ", y = " + std::to_string(y) + ": got " +
              text(pixel.r, pixel.g, pixel.b, pixel.a) + ", expected " +
              text(0, static_cast<int>(green), blue, 255);
    }
  const std::size_t count = picture.pixels().size();
  if (wrong != 0)
    return {false, std::to_string(wrong) + " of " + std::to_string(count) +
                       " pixels differ; first at " + first};
  return {true, "all " + std::to_string(count) + " pixels that OpenGL drew are the reference's"};
}

}  // namespace lab::gl_image
