// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 09.3 heat_interop: what the pictures are compared with: 08.4's plate, in colours.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "../../08_textures/4_heat_transfer/reference.hpp"
#include "../../08_textures/4_heat_transfer/scene.hpp"
#include "heat_interop.hpp"
#include "lab/bitmap.hpp"
#include "lab/closeness.hpp"

namespace lab::heat_interop {

using heat_transfer::book_scene;  // a plate to begin with
using heat_transfer::reference;   // the plate some steps later
using heat_transfer::scene;

/// 08.4's colours, for 256 temperatures whose roots are evenly spread.
inline std::vector<rgba> heat_colours() {
  std::vector<rgba> colours;
  for (std::size_t i = 0; i < kColours; ++i) {
    const float root = static_cast<float>(i) / static_cast<float>(kColours - 1);
    colours.push_back(heat_transfer::colour_of(root * root));
  }
  return colours;
}

/// The contract's index. In host code each operation is rounded on its own.
inline std::size_t index_of(float temperature) {
  const float inside = std::clamp(temperature, 0.0F, 1.0F);
  return static_cast<std::size_t>(255 * std::sqrt(inside));
}

/// Compares every pixel, without any tolerance.
inline comparison compare_with(std::span<const float> cells, std::span<const rgba> colours,
                               const bitmap& picture, int width, int height) {
  if (picture.width() != width || picture.height() != height)
    return {false, "the picture has " + std::to_string(picture.width()) + " x " +
                       std::to_string(picture.height()) + " pixels, expected " +
                       std::to_string(width) + " x " + std::to_string(height)};
  const auto text = [](const rgba& c) {
    return "(" + std::to_string(c.r) + ", " + std::to_string(c.g) + ", " + std::to_string(c.b) +
           ", " + std::to_string(c.a) + ")";
  };
  std::size_t wrong = 0;
  std::string first;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const rgba& expected = colours[index_of(cells[i])];
    const rgba& pixel = picture.pixels()[i];
    if (pixel == expected || wrong++ != 0) continue;
    const auto wide = static_cast<std::size_t>(width);
    first = "x = " + std::to_string(i % wide) + ", y = " + std::to_string(i / wide) + ": got " +
            text(pixel) + ", expected " + text(expected);
  }
  if (wrong != 0)
    return {false, std::to_string(wrong) + " of " + std::to_string(cells.size()) +
                       " pixels differ; first at " + first};
  return {true, "all " + std::to_string(cells.size()) + " pixels have the reference's colour"};
}

}  // namespace lab::heat_interop
