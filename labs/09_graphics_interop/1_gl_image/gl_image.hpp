// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 09.1 gl_image: the contract. What the program and the tests expect of gl_image.cu.
#pragma once

#include "lab/bitmap.hpp"

namespace lab::gl_image {

struct result {
  bitmap picture;       ///< what OpenGL has drawn, read back from it
  float kernel_ms = 0;  ///< the time of the kernel alone
};

inline constexpr int kLongestSide = 8192;  ///< of a picture: what any OpenGL of today can draw

/// A kernel draws a pattern into a buffer of OpenGL, and OpenGL draws the buffer's pixels.
///
/// Pixel (x, y), where row 0 is the upper one, is opaque. Its red is 0, its blue
/// 255 * y / height in whole numbers: so one sees where up is. Its green is
///
///     128 + 127 * sin(|100 * fx| - |100 * fy|)    fx = x / width - 1/2, fy = y / height - 1/2
///
/// without the digits after the point, where all divisions are real ones.
///
/// An OpenGL context must be current in the calling thread: lab::gl_context makes one. Afterwards
/// OpenGL is as it was: what was made is deleted, and no buffer is bound.
///
/// Throws lab::invalid_input when a side is less than 1 or more than kLongestSide or than OpenGL
/// can draw; lab::not_possible when no context is current; lab::cuda_error and lab::gl_error when
/// CUDA or OpenGL report an error. On no way is a buffer left, or left registered.
///
/// Requires: a kernel with a thread for each pixel, which draws into the buffer of OpenGL, mapped;
/// no pixel goes through the host.
///
/// From: J. Sanders, E. Kandrot, CUDA by Example, 8.2. (The blue is ours.)
result draw(int width, int height);

}  // namespace lab::gl_image
