// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 04.1 julia_set: the contract. What the program and the tests expect of julia_set.cu.
#pragma once

#include <vector>

namespace lab::julia_set {

/// Which part of which Julia set, and how finely. The defaults are the book's picture.
struct view {
  int width = 1000;   ///< pixels
  int height = 1000;  ///< pixels
  float centre_x = 0, centre_y = 0;
  float scale = 1.5F;  ///< from the centre to the nearer edges of the picture
  float c_re = -0.8F, c_im = 0.156F;
  int max_iterations = 200;
};

enum class step {
  one_thread_per_block,  ///< a grid of width x height blocks of one thread
  blocks_16x16,          ///< blocks of 16 x 16 threads that cover the picture
};

struct result {
  std::vector<int> iterations;  ///< pixel (x, y) is [y * width + x]; row 0 is the top one
  float kernel_ms = 0;          ///< the time of the kernel alone
};

/// A z that is farther from 0 than this, squared, will not come back.
inline constexpr float kEscaped = 1000;

/// How long each pixel's point stays near 0 under z -> z * z + c.
///
/// With half = min(width, height) / 2, pixel (x, y) starts at
///
///     z.re = scale * (width / 2 - x) / half + centre_x
///     z.im = scale * (height / 2 - y) / half + centre_y
///
/// (divisions of floats, not of integers; each operation rounded to float, in this order). As in
/// the book the real axis runs from right to left; a picture around 0 is the same turned by 180
/// degrees. Then, max_iterations times:
///
///     z = (z.re * z.re - z.im * z.im, z.re * z.im + z.im * z.re) + c
///     if z.re * z.re + z.im * z.im > kEscaped: stop
///
/// The pixel's number is how many iterations it survived: 0 if the first one took it away,
/// max_iterations if none did. These are the pixels of the set. Every operation is rounded to
/// float on its own, so that the numbers are the same on every device: see "One rounding or two"
/// in the chapter.
///
/// Throws lab::invalid_input when width, height or max_iterations is less than 1, when scale is
/// not greater than 0, when a number is not finite, or when the picture is larger than the
/// device's grid; lab::cuda_error when CUDA reports an error. Neither leaves device memory behind.
///
/// Requires: a kernel with a thread for each pixel: in blocks of one thread, or of 16 x 16,
/// whose warps store neighbours in a row.
///
/// From: J. Sanders, E. Kandrot, CUDA by Example, 4.2.2.
result compute(step version, const view& region);

}  // namespace lab::julia_set
