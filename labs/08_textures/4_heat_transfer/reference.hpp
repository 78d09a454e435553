// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 08.4 heat_transfer: what the results are compared with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "heat_transfer.hpp"
#include "lab/closeness.hpp"

namespace lab::heat_transfer {

/// One step, on the host: a frame of copies of the edge is laid around the plate, and then no cell
/// is special.
inline std::vector<float> reference_step(int width, int height, std::vector<float> cells,
                                         std::span<const float> heaters) {
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (heaters[i] != 0) cells[i] = heaters[i];

  const auto wide = static_cast<std::size_t>(width), framed = wide + 2;
  std::vector<float> with_frame;
  with_frame.reserve(framed * (static_cast<std::size_t>(height) + 2));
  for (int row = -1; row <= height; ++row) {
    const float* from =
        cells.data() + static_cast<std::size_t>(std::clamp(row, 0, height - 1)) * wide;
    with_frame.push_back(from[0]);
    with_frame.insert(with_frame.end(), from, from + wide);
    with_frame.push_back(from[wide - 1]);
  }

  std::size_t i = 0;
  for (std::size_t y = 1; y <= static_cast<std::size_t>(height); ++y)
    for (std::size_t x = 1; x <= wide; ++x, ++i) {
      const float* own = with_frame.data() + y * framed + x;
      const float around = *(own - framed) + *(own + framed) + *(own - 1) + *(own + 1);
      cells[i] = *own + kSpeed * (around - 4 * *own);
    }
  return cells;
}

/// `steps` of them. The input is good.
inline std::vector<float> reference(int width, int height, std::span<const float> initial,
                                    std::span<const float> heaters, int steps) {
  std::vector<float> cells(initial.begin(), initial.end());
  for (int i = 0; i < steps; ++i) cells = reference_step(width, height, std::move(cells), heaters);
  return cells;
}

/// Compares without any tolerance, and says which cell is the first wrong one.
inline comparison compare_with(std::span<const float> expected, std::span<const float> cells,
                               int width, int steps) {
  comparison result = compare_exact(cells, expected);
  result.message =
      "after " + std::to_string(steps) + (steps == 1 ? " step: " : " steps: ") + result.message;
  if (!result.ok && cells.size() == expected.size()) {
    const auto first = std::ranges::mismatch(cells, expected).in1 - cells.begin();
    result.message += "; this is cell (" + std::to_string(first % width) + ", " +
                      std::to_string(first / width) + ")";
  }
  return result;
}

/// How far rounding may lead beyond what holds on paper, per step, for temperatures whose magnitude
/// is at most M: there new = (up + down + left + right) / 4, a mean. With e = 2^-24, the largest
/// relative error of one rounding, the three sums of at most 2 M, 3 M and 4 M err by 9 M e, their
/// difference with 4 * own, which is 8 M at most, by 8 M e; a quarter of both is 4.25 M e. (4 * own
/// and the quarter are exact.) The last sum adds M e, and terms in e * e stay below the rest.
inline constexpr double kRounding = 6 * 0x1p-24;

}  // namespace lab::heat_transfer
