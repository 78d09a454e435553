// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 17.1 graph_of_steps: the contract. What the program and the tests expect of graph_of_steps.cu.
#pragma once

#include <span>
#include <vector>

namespace lab::graph_of_steps {

/// The program's plate, its phases, time steps of a phase (on the CPU device), and of a graph,
/// unless it is told otherwise.
inline constexpr int kDefaultWidth = 96, kDefaultHeight = 64, kDefaultPhases = 4,
                     kDefaultSteps = 101, kDefaultBatch = 20;

enum class step {
  launches,  ///< a kernel launch for each time step
  captured,  ///< a graph of `batch` time steps, captured for each phase, launched again and again
  updated,   ///< a single executable graph, which is updated from phase to phase
  built,     ///< the same, but its nodes are added one by one instead of being captured
};

struct result {
  std::vector<float> cells;  ///< cell (x, y) is [y * width + x]
  float total_ms = 0;        ///< the time of all time steps, with what the host does in between
};

inline constexpr int kLongestSide = 1 << 19;  ///< cells
inline constexpr int kLongestBatch = 1024;    ///< time steps
inline constexpr float kHottest = 1e15F;      ///< so that no product and no sum becomes infinite

/// The temperatures of a plate of width x height cells, some time steps after `initial`. There is a
/// phase for each of the `strengths`, and a phase has `steps` time steps.
///
/// One time step, where s is the strength of the phase:
///   1. where heaters[i] is not 0, the cell has the temperature s * heaters[i];
///   2. then all cells at once, with the temperatures that they have after 1:
///
///          new = own + 0.25 * (up + down + left + right - 4 * own)
///
/// up is (x, y - 1), down (x, y + 1), left (x - 1, y) and right (x + 1, y). At the edges the cell
/// itself takes the place of a neighbour that is not there. This is 08.4, whose heaters have the
/// strength 1.
///
/// All steps give the same bits. A plate without cells gives none, and without phases or time steps
/// the result is `initial`.
///
/// Throws lab::invalid_input when a side is negative or more than kLongestSide; when `initial` or
/// `heaters` does not have width * height cells; when a cell, a heater or a strength is not a
/// number from -kHottest to kHottest; when steps is negative; when batch is not an even number from
/// 2 to kLongestBatch. Throws lab::cuda_error when CUDA reports an error. Neither leaves memory,
/// graphs or a stream that is being captured behind.
///
/// Requires: a kernel for each time step, with a thread for every few cells. launches: no graph.
/// The others: steps / batch graph launches in each phase, of `batch` kernels each, and a kernel
/// launch for each of the steps % batch time steps that are left. captured: cudaGraphInstantiate at
/// most once a phase. updated and built: once at most in all; for the next phase it is the
/// executable graph that changes. built: no capture.
///
/// From: the time step of J. Sanders, E. Kandrot, CUDA by Example, 7.3. Graphs for many short
/// kernels: A. Gray, Getting Started with CUDA Graphs, NVIDIA Technical Blog, 2019.
result simulate(step version, int width, int height, std::span<const float> initial,
                std::span<const float> heaters, std::span<const float> strengths, int steps,
                int batch);

}  // namespace lab::graph_of_steps
