// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.3 shared_bitmap: the contract. What the program and the tests expect of shared_bitmap.cu.
#pragma once

#include <span>
#include <vector>

namespace lab::shared_bitmap {

/// Width and height of the program's picture, and the period of its waves, unless it is told
/// otherwise.
inline constexpr int kDefaultSize = 1024, kDefaultPeriod = 128;

constexpr int kTile = 16;     ///< the picture is made of tiles of kTile x kTile pixels
constexpr int kBright = 255;  ///< the greatest value of a wave, and of a pixel

struct result {
  std::vector<int> greens;  ///< the green of each pixel, 0 to 255, row by row from the top
  float kernel_ms = 0;      ///< the time of the kernel alone
};

/// A picture of two waves that cross, each of its tiles turned by 180 degrees.
///
/// The green of the point (x, y) is across[x % its length] * down[y % its length] / kBright, in
/// whole numbers. The pixel (x, y) does not show its own point, but the one that it becomes when
/// its tile is turned: in the tile whose first pixel is (x0, y0), the pixel (x0 + i, y0 + j) shows
/// the point (x0 + kTile - 1 - i, y0 + kTile - 1 - j). That point may lie beyond the edge of the
/// picture, and the waves go on there.
///
/// Any width and height from 1 on are possible: tiles at the edges may be cut off.
///
/// Throws lab::invalid_input for other sizes, for those that need a larger grid than there is, and
/// unless each wave has at least one value, all of them from 0 to kBright; lab::cuda_error when
/// CUDA reports an error. Neither leaves device memory behind.
///
/// Requires: a kernel in which each thread computes one point of its tile, puts it into shared
/// memory, and takes its pixel, which is another thread's point, from there.
///
/// From: J. Sanders, E. Kandrot, CUDA by Example, 5.3.3, which computes the sines in the kernel.
result draw(int width, int height, std::span<const int> across, std::span<const int> down);

}  // namespace lab::shared_bitmap
