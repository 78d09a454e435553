// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.3 shared_bitmap: what the pictures are compared with. Whole numbers: there is no tolerance.
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <vector>

#include "lab/bitmap.hpp"
#include "shared_bitmap.hpp"

namespace lab::shared_bitmap {

/// One period of the book's wave, 255 * (sin + 1) / 2, rounded to whole numbers. They are made
/// here, once: a GPU's sine may differ from a CPU's in its last bit, and a pixel with it.
inline std::vector<int> sine_wave(int period) {
  std::vector<int> wave(static_cast<std::size_t>(period));
  for (int i = 0; i < period; ++i)
    wave[static_cast<std::size_t>(i)] = static_cast<int>(
        std::lround(kBright * (std::sin(2 * std::numbers::pi * i / period) + 1) / 2));
  return wave;
}

/// The picture on the host: no tiles in shared memory, and no barriers.
inline std::vector<int> reference(int width, int height, std::span<const int> across,
                                  std::span<const int> down) {
  std::vector<int> greens;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      // x % kTile is the place in the tile; what is left is the tile's first pixel.
      const auto shown_x = static_cast<std::size_t>(x - x % kTile + kTile - 1 - x % kTile);
      const auto shown_y = static_cast<std::size_t>(y - y % kTile + kTile - 1 - y % kTile);
      greens.push_back(across[shown_x % across.size()] * down[shown_y % down.size()] / kBright);
    }
  return greens;
}

/// The picture of `greens`. A value that is none (memory that was never written) is drawn in red.
inline bitmap picture_of(int width, int height, std::span<const int> greens) {
  bitmap picture(width, height);
  for (std::size_t i = 0; i < picture.pixels().size() && i < greens.size(); ++i)
    picture.pixels()[i] = greens[i] >= 0 && greens[i] <= kBright
                              ? rgba{.g = static_cast<std::uint8_t>(greens[i])}
                              : rgba{.r = kBright};
  return picture;
}

}  // namespace lab::shared_bitmap
