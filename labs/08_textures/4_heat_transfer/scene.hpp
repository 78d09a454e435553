// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 08.4 heat_transfer: a plate to begin with, and its colours (given).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lab/bitmap.hpp"

namespace lab::heat_transfer {

inline constexpr float kHot = 1;
inline constexpr float kCold = 0.0001F;  // not 0, which would be no heater

struct scene {
  std::vector<float> initial, heaters;
};

/// The book's plate: of 1024 x 1024 cells, or shrunk and stretched to another size. (The book draws
/// it upside down: its row 0 is the lowest one.)
inline scene book_scene(int width, int height) {
  const auto wide = static_cast<std::size_t>(width), high = static_cast<std::size_t>(height);
  const auto fill = [=](std::vector<float>& cells, std::size_t left, std::size_t top,
                        std::size_t right, std::size_t bottom, float temperature) {
    constexpr std::size_t kBook =
        1024;  // left, top, right and bottom are those of the book's plate
    const std::size_t x0 = left * wide / kBook, y0 = top * high / kBook;
    const std::size_t x1 = std::max(right * wide / kBook, x0 + 1);  // at least one cell
    const std::size_t y1 = std::max(bottom * high / kBook, y0 + 1);
    for (std::size_t y = y0; y < y1; ++y)
      for (std::size_t x = x0; x < x1; ++x) cells[y * wide + x] = temperature;
  };
  const auto fill_one = [&](std::vector<float>& cells, std::size_t x, std::size_t y, float t) {
    fill(cells, x, y, x + 1, y + 1, t);
  };

  std::vector<float> heaters(wide * high, 0.0F);
  fill(heaters, 301, 311, 600, 601, kHot);
  fill_one(heaters, 100, 100, (kHot + kCold) / 2);
  fill_one(heaters, 100, 700, kCold);
  fill_one(heaters, 300, 300, kCold);
  fill_one(heaters, 700, 200, kCold);
  fill(heaters, 400, 800, 500, 900, kCold);

  std::vector<float> initial = heaters;
  fill(initial, 0, 800, 200, 1024, kHot);
  return {std::move(initial), std::move(heaters)};
}

/// From a cold blue night over violet and orange to white heat.
inline rgba colour_of(float temperature) {
  struct stop {
    float at, r, g, b;
  };
  constexpr std::array<stop, 7> kStops = {{{0.00F, 8, 10, 28},
                                           {0.12F, 24, 34, 104},
                                           {0.32F, 108, 28, 140},
                                           {0.52F, 206, 46, 92},
                                           {0.72F, 250, 122, 38},
                                           {0.88F, 255, 204, 72},
                                           {1.00F, 255, 252, 226}}};
  // The root spreads the low temperatures, of which there are many. A NaN gets the first colour.
  const float t = temperature > 0 ? std::sqrt(std::min(temperature / kHot, 1.0F)) : 0.0F;
  std::size_t i = 1;
  while (i + 1 < kStops.size() && t > kStops[i].at) ++i;
  const stop &from = kStops[i - 1], &to = kStops[i];
  const float part = (t - from.at) / (to.at - from.at);
  const auto mix = [part](float a, float b) {
    return static_cast<std::uint8_t>(std::lround(a + part * (b - a)));
  };
  return {mix(from.r, to.r), mix(from.g, to.g), mix(from.b, to.b), 255};
}

/// `picture` has as many pixels as there are cells.
inline void draw(bitmap& picture, std::span<const float> cells) {
  std::ranges::transform(cells, picture.pixels().begin(), colour_of);
}

}  // namespace lab::heat_transfer
