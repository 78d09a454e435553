// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 09.3 heat_interop: the contract. What the program and the tests expect of heat_interop.cu.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "lab/bitmap.hpp"

namespace lab::heat_interop {

/// Width and height of the program's plate on the CPU device, and time steps from one frame to the
/// next, unless it is told otherwise.
inline constexpr int kDefaultSize = 256, kDefaultSteps = 90;

enum class step {
  through_host,  ///< the colours are made in CUDA's memory, and go to OpenGL by way of the host
  interop,       ///< the colours are made in a buffer of OpenGL
};

inline constexpr int kLongestSide = 8192;     ///< of a plate, in cells
inline constexpr float kHottest = 1e30F;      ///< so that no sum becomes infinite
inline constexpr std::size_t kColours = 256;  ///< in a palette

/// A plate to begin with; cell (x, y) is [y * width + x], row 0 is the upper one.
struct plate {
  int width = 0, height = 0;
  std::span<const float> initial, heaters;
};

/// Lets the time steps of a frame pass, then has OpenGL draw the plate, one pixel per cell, where
/// OpenGL draws at the moment and over the whole viewport: into a lab::gl_canvas of the plate's
/// size, or into a window. Returns the time of the frame's kernels in milliseconds.
using frame_callback = std::function<float()>;

/// The heat of 08.4 as an animation that OpenGL shows: frame number k, counted from 1, is the plate
/// after k * steps_per_frame of 08.4's time steps (labs/08_textures/4_heat_transfer).
///
/// A cell of temperature t gets colours[index of t], where
///
///     index of t = 255 * root(t), without the digits after the point
///
/// for t from 0 to 1, 0 for all that is colder, 255 for all that is hotter. Each operation is
/// rounded to float on its own, so that the colours are the same on every device.
///
/// The plate stays on the device between the frames; with `interop` no pixel ever leaves it. All
/// copies of what is returned share the plate; the last one that goes frees it. Between calls no
/// buffer is mapped or bound. One OpenGL context must be current in the calling thread, here, in
/// each call, and at the end.
///
/// Throws lab::invalid_input when a side is less than 1 or more than kLongestSide, when `initial`
/// or `heaters` has not width * height cells or has one that is not a number from -kHottest to
/// kHottest, when there are not kColours colours, or when steps_per_frame is negative;
/// lab::cuda_error and lab::gl_error when CUDA or OpenGL report an error. Neither leaves anything
/// behind.
///
/// Requires: in both steps kernels for the time steps and one for the colours; in step interop the
/// colours are made in the buffer of OpenGL, mapped, and no pixel goes through the host.
///
/// From: J. Sanders, E. Kandrot, CUDA by Example, 8.4. (The colours are ours.)
frame_callback animate(step version, const plate& start, std::span<const rgba> colours,
                       int steps_per_frame);

}  // namespace lab::heat_interop
