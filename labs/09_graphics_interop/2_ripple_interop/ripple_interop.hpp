// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 09.2 ripple_interop: the contract. What the program and the tests expect of ripple_interop.cu.
#pragma once

#include <functional>

#include "lab/bitmap.hpp"

namespace lab::ripple_interop {

enum class step {
  through_host,  ///< the kernel draws into CUDA's memory; its pixels go to the host, then to OpenGL
  interop,       ///< the kernel draws into a buffer of OpenGL
};

/// Width and height of the program's picture on the CPU device unless it is told otherwise.
inline constexpr int kDefaultSize = 512;

inline constexpr int kLongestSide = 8192;  ///< of a picture: what any OpenGL of today can draw

/// Has OpenGL draw the pond at a tick, where OpenGL draws at the moment and over the whole
/// viewport: into a lab::gl_canvas of the pond's size, or into a window. Returns the kernel's time
/// in milliseconds.
using frame_callback = std::function<float(int tick)>;

/// The pond of 04.2 as an animation that OpenGL shows: what is returned draws one frame a call, in
/// any order of ticks. Its pixels are those of 04.2's contract
/// (labs/04_images/2_ripple/ripple.hpp), its row 0 is the upper one.
///
/// What all frames share is made once, here: with `interop` a buffer of OpenGL and its
/// registration, and no device memory of CUDA's own. All copies of what is returned share it; the
/// last one that goes gives it back. Between calls the buffer is not mapped, and no buffer is
/// bound.
///
/// One OpenGL context must be current in the calling thread, here, in each call, and at the end.
///
/// Throws lab::invalid_input when a side is less than 1 or more than kLongestSide; lab::cuda_error
/// and lab::gl_error when CUDA or OpenGL report an error. Neither leaves anything behind.
///
/// Requires: in both steps a kernel with a thread for each pixel; in step interop it draws into the
/// buffer of OpenGL, mapped, and no pixel goes through the host.
///
/// From: J. Sanders, E. Kandrot, CUDA by Example, 8.3.
frame_callback animate(step version, int width, int height);

struct result {
  bitmap picture;       ///< what OpenGL has drawn, read back from it
  float kernel_ms = 0;  ///< the time of the kernel alone
};

/// One frame in a picture of its own; all is as for animate().
result frame(step version, int width, int height, int tick);

}  // namespace lab::ripple_interop
