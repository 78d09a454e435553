// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 20.2 mpi_heat: the contract. What the program and the tests expect of mpi_heat.cu.
#pragma once

#include <span>
#include <vector>

namespace lab::mpi_heat {

inline constexpr int kMostRanks = 64;
inline constexpr int kLongestSide = 1 << 16;  ///< cells
inline constexpr float kHottest = 1e30F;      ///< so that no sum becomes infinite

/// What the program takes unless it is told otherwise.
inline constexpr int kDefaultWidth = 512, kDefaultHeight = 384, kDefaultSteps = 60,
                     kDefaultRanks = 4;

enum class step {
  blocking,  ///< in each time step the halos are exchanged, and then all cells are computed
  overlap,   ///< the inner cells are computed while the halos are on their way
};

/// How a plate is divided: `rows` x `columns` ranks.
struct process_grid {
  int rows = 1, columns = 1;
  friend bool operator==(const process_grid&, const process_grid&) = default;
};

struct result {
  std::vector<float> cells;  ///< cell (x, y) is [y * width + x]
  process_grid grid;
  float total_ms = 0;     ///< of the slowest rank: all time steps, without start and end
  float exchange_ms = 0;  ///< of that, in calls of MPI: of the rank that spends most there
};

/// The grid for a plate of width x height cells and so many ranks: at most `height` rows and at
/// most `width` columns, so that each rank has a cell; of these, one that uses the most ranks; of
/// these, one with the shortest borders, (rows - 1) * width + (columns - 1) * height cells; of
/// these, the one with the fewest rows.
///
/// Throws lab::invalid_input when a side is not 1 to kLongestSide, or when there are not 1 to
/// kMostRanks ranks.
process_grid choose_grid(int width, int height, int ranks);

/// The temperatures of a plate of width x height cells, `steps` time steps after `initial`, by an
/// MPI job of `ranks` processes. One time step:
///   1. where heaters[i] is not 0, the cell takes this temperature;
///   2. then all cells at once: new = own + 0.25 * (up + down + left + right - 4 * own).
///
/// up is (x, y - 1), down (x, y + 1), left (x - 1, y) and right (x + 1, y). At the edges of the
/// plate the cell itself takes the place of a neighbour that is not there. Every operation is
/// rounded to float on its own, in the order written, so that the bits are the same on any number
/// of ranks.
///
/// Rank r of the grid has row r / columns and column r % columns of it. Row i of `rows` has the
/// cells from y = height * i / rows to height * (i + 1) / rows - 1, rounded down, and columns
/// likewise. Ranks beyond the grid have nothing to do. A rank uses device (local rank) mod
/// (devices).
///
/// `kill_rank` is for practice: this rank ends itself (SIGKILL) in the middle of the time steps.
/// -1: none does.
///
/// Throws lab::invalid_input when choose_grid() does, when `initial` or `heaters` has not width *
/// height cells or has one that is not a number from -kHottest to kHottest, or when steps is
/// negative; lab::cuda_error when CUDA reports an error in any rank; lab::mpi_error when MPI does,
/// or when a rank ends or does not answer within 20 seconds: the sentence names it. Nothing of the
/// job is left behind.
///
/// Requires: kernels on every rank of the grid. Between time steps, only cells at the borders of
/// the parts are copied; in overlap, the kernels of inner cells and those of borders are in
/// different streams, and those of inner cells are launched before the host waits for messages.
///
/// From: MPI: A Message-Passing Interface Standard, version 3.1, chapters 3 (nonblocking
/// communication) and 7 (process topologies); the plate is that of 08.4.
result simulate(step version, int width, int height, std::span<const float> initial,
                std::span<const float> heaters, int steps, int ranks, int kill_rank = -1);

}  // namespace lab::mpi_heat
