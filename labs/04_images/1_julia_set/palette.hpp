// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 04.1 julia_set: from iterations to colours (given).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "julia_set.hpp"
#include "lab/bitmap.hpp"

namespace lab::julia_set {

enum class palette {
  ember,    ///< from night through fire to white
  lagoon,   ///< from deep water to sand
  classic,  ///< the book's: the set is red, all else black
};

namespace detail {

struct colour_stop {
  double at;  // 0 to 1
  double r, g, b;
};

inline constexpr std::array<colour_stop, 6> kEmber = {{{0.00, 6, 7, 23},
                                                       {0.30, 52, 16, 84},
                                                       {0.52, 152, 28, 86},
                                                       {0.70, 232, 84, 48},
                                                       {0.86, 254, 190, 76},
                                                       {1.00, 255, 250, 222}}};
inline constexpr std::array<colour_stop, 6> kLagoon = {{{0.00, 3, 12, 36},
                                                        {0.30, 6, 50, 96},
                                                        {0.55, 12, 122, 146},
                                                        {0.75, 88, 196, 178},
                                                        {0.90, 232, 226, 170},
                                                        {1.00, 255, 252, 240}}};

/// The colour at `t`, 0 to 1, on the straight lines between the stops.
inline rgba blend(std::span<const colour_stop> stops, double t) {
  std::size_t i = 1;
  while (i + 1 < stops.size() && t > stops[i].at) ++i;
  const colour_stop &from = stops[i - 1], &to = stops[i];
  const double part = std::clamp((t - from.at) / (to.at - from.at), 0.0, 1.0);
  const auto mix = [part](double a, double b) {
    return static_cast<std::uint8_t>(std::lround(a + part * (b - a)));
  };
  return {mix(from.r, to.r), mix(from.g, to.g), mix(from.b, to.b), 255};
}

}  // namespace detail

/// The picture of `iterations`, which are compute()'s for `region`.
///
/// Few pixels survive for long, so the two gradients run along the logarithm of the iterations:
/// the steps between 10 and 20 show as much as those between 100 and 200.
inline bitmap draw(const view& region, std::span<const int> iterations, palette colours) {
  std::vector<rgba> colour_of(static_cast<std::size_t>(region.max_iterations) + 1);
  for (std::size_t i = 0; i < colour_of.size(); ++i) {
    const double t = std::log1p(static_cast<double>(i)) / std::log1p(region.max_iterations);
    const bool member = i + 1 == colour_of.size();
    switch (colours) {
      case palette::ember:
        colour_of[i] = detail::blend(detail::kEmber, t);
        break;
      case palette::lagoon:
        colour_of[i] = detail::blend(detail::kLagoon, t);
        break;
      case palette::classic:
        colour_of[i] = {static_cast<std::uint8_t>(member ? 255 : 0), 0, 0, 255};
        break;
    }
  }
  bitmap picture(region.width, region.height);
  std::transform(iterations.begin(), iterations.end(), picture.pixels().begin(), [&](int i) {
    return colour_of[static_cast<std::size_t>(std::clamp(i, 0, region.max_iterations))];
  });
  return picture;
}

}  // namespace lab::julia_set
