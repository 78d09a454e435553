// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 08.4 heat_transfer: the contract. What the program and the tests expect of heat_transfer.cu.
#pragma once

#include <span>
#include <vector>

namespace lab::heat_transfer {

/// Width and height of the program's plate on the CPU device unless it is told otherwise.
inline constexpr int kDefaultSize = 256;

enum class step {
  global_memory,  ///< two kernels per step, which read through pointers
  texture_1d,     ///< the same through texture objects over linear memory, with tex1Dfetch
  texture_2d,     ///< the same through texture objects over rows of pitched memory, with tex2D
  fused,          ///< one kernel per step, which reads through pointers, several cells per thread
  several_steps,  ///< one kernel for several steps, which keeps a tile on the multiprocessor
};

struct result {
  std::vector<float> cells;  ///< cell (x, y) is [y * width + x]
  float kernel_ms = 0;       ///< the time of all steps together, without the copies
};

/// What part of the difference flows in one step. 0.25 is the largest value that is stable.
inline constexpr float kSpeed = 0.25F;

inline constexpr int kLongestSide = 1 << 19;  ///< cells
inline constexpr float kHottest = 1e30F;      ///< so that no sum becomes infinite

/// The temperatures of a plate of width x height cells, `steps` time steps after `initial`.
///
/// One step:
///   1. where heaters[i] is not 0, the cell takes this temperature (which may be a cold one);
///   2. then all cells at once, with the temperatures that they have after 1:
///
///          new = own + kSpeed * (up + down + left + right - 4 * own)
///
/// up is (x, y - 1), down (x, y + 1), left (x - 1, y) and right (x + 1, y). At the edges the cell
/// itself takes the place of a neighbour that is not there: no heat leaves the plate. Every
/// operation is rounded to float on its own, in the order written, so that the temperatures are
/// the same on every device and in every step of the exercise.
///
/// Note that a heater's own cell ends a step with what 2 made of it. No steps leave `initial` as it
/// is.
///
/// Throws lab::invalid_input when a side is less than 1 or more than kLongestSide, when `initial`
/// or `heaters` has not width * height cells or has one that is not a number from -kHottest to
/// kHottest, when steps is negative, or when the plate is larger than the device's textures can be;
/// lab::cuda_error when CUDA reports an error. Neither leaves device memory or textures behind.
///
/// Requires: kernels with a thread for every few cells: two per step, one in fused, one for at
/// least four steps in several_steps, which reads less than a kernel per step would have to; in
/// texture_1d and texture_2d they read through texture objects only.
///
/// From: J. Sanders, E. Kandrot, CUDA by Example, 7.3. For several_steps: S. Krishnamoorthy et al.,
/// Effective Automatic Parallelization of Stencil Computations, PLDI 2007 (overlapped tiles);
/// J. Meng, K. Skadron, Performance Modeling and Automatic Ghost Zone Optimization for Iterative
/// Stencil Loops on GPUs, ICS 2009.
result simulate(step version, int width, int height, std::span<const float> initial,
                std::span<const float> heaters, int steps);

}  // namespace lab::heat_transfer
