// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 07.2 ray_tracer: what the results are compared with.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "lab/bitmap.hpp"
#include "ray_tracer.hpp"

namespace lab::ray_tracer {

/// The picture, made the other way round: not a ray for each pixel that looks for its sphere, but a
/// sphere after the other that is painted into all pixels where nothing nearer is yet. (This is how
/// graphics cards draw.) The formulas are the contract's, in plain floats; the scene is a good one.
inline bitmap reference(std::span<const sphere> scene, int width, int height) {
  bitmap picture(width, height);  // black
  std::vector<float> depths(picture.pixels().size(), -std::numeric_limits<float>::infinity());
  for (const sphere& ball : scene) {
    const float radius_squared = ball.radius * ball.radius;
    std::size_t position = 0;
    for (int y = 0; y < height; ++y) {
      const float down = static_cast<float>(y) - static_cast<float>(height) / 2 - ball.y;
      const float down_squared = down * down;
      for (int x = 0; x < width; ++x, ++position) {
        const float right = static_cast<float>(x) - static_cast<float>(width) / 2 - ball.x;
        const float inside = radius_squared - (right * right + down_squared);
        if (inside <= 0) continue;
        const float above = std::sqrt(inside);
        const float depth = above + ball.z;
        if (depth <= depths[position]) continue;
        depths[position] = depth;
        const float shade = above / ball.radius;
        const auto byte = [shade](float part) {
          return static_cast<std::uint8_t>(part * shade * 255.0F);
        };
        picture.pixels()[position] = {byte(ball.r), byte(ball.g), byte(ball.b), 255};
      }
    }
  }
  return picture;
}

}  // namespace lab::ray_tracer
