// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 04.2 ripple: the contract. What the program and the tests expect of ripple.cu.
#pragma once

#include <functional>

#include "lab/bitmap.hpp"

namespace lab::ripple {

enum class step {
  blocks_16x16,  ///< blocks of 16 x 16 threads that cover the picture, as in 04.1
  flat_256,      ///< blocks of 256 threads in a row, along all pixels from the first to the last
};

struct result {
  bitmap picture;
  float kernel_ms = 0;  ///< the time of the kernel alone, without the copy
};

/// A side may be this long: half a million pixels. Up to here a float holds every half of a pixel,
/// and the grids of both steps are within what a device takes.
inline constexpr int kLongestSide = 1 << 19;

/// The surface of a pond at `tick`, after a stone fell into its middle.
///
/// With the distance d of pixel (x, y) from (width / 2, height / 2), where the divisions are real
/// ones, red, green and blue are all
///
///     128 + 127 * cos(d / 10 - tick / 7) / (d / 10 + 1)
///
/// without the digits after the point; the pixel is opaque. tick / 7 is a real division too. Any
/// tick will do, negative and very large ones as well: the picture is as sharp after a week.
///
/// Throws lab::invalid_input when a side is less than 1 or more than kLongestSide; lab::cuda_error
/// when CUDA reports an error. Neither leaves device memory behind.
///
/// Requires: a kernel with a thread for each pixel, in blocks of 16 x 16 or of 256 in a row, whose
/// warps store neighbours in a row.
///
/// From: J. Sanders, E. Kandrot, CUDA by Example, 5.2.2.
result frame(step version, int width, int height, int tick);

/// Draws the pond at a tick into a picture that is there already, and returns kernel_ms.
using frame_callback = std::function<float(bitmap& picture, int tick)>;

/// The pond as an animation: each call of the returned function draws one frame; ticks may come in
/// any order.
///
/// It owns a single block of device memory, which all its frames use and all its copies share.
/// The last copy to be destroyed frees it. Called with a picture of another size it throws
/// lab::invalid_input; otherwise all is as for frame(), and a bad size is refused here already.
frame_callback animate(step version, int width, int height);

}  // namespace lab::ripple
