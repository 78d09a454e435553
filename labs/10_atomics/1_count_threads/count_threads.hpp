// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 10.1 count_threads: the contract. What the program and the tests expect of count_threads.cu.
#pragma once

#include <cstdint>

namespace lab::count_threads {

/// What a thread has to fulfil to be counted. Its row i in the grid is counted along y, its column
/// j along x, both over all blocks and from 0.
enum class condition {
  every_thread,
  on_or_below_diagonal,  ///< i >= j
  on_diagonal,           ///< i == j
  chessboard,            ///< i + j is even
};

struct extent {
  unsigned x = 0;
  unsigned y = 0;
};

struct shape {
  extent blocks;   ///< of the grid
  extent threads;  ///< of a block
};

/// The program's unless it is told otherwise.
inline constexpr shape kDefaultGrid = {{100, 100}, {32, 8}};

struct result {
  std::uint64_t count = 0;
  float kernel_ms = 0;  ///< the time of the kernel alone; 0 where nothing was launched
};

/// Launches a grid of this shape, whose threads count those of them that fulfil the condition, in
/// one counter in device memory. Where one of the four numbers is 0 there is no thread to count:
/// the result is 0, and nothing is launched.
///
/// Throws lab::invalid_input when a block or the grid is larger than the current device allows;
/// lab::cuda_error when CUDA reports an error. Neither leaves device memory behind.
///
/// Requires: a launch of exactly the shape that was asked for, whose threads count themselves in
/// one counter by an atomic function; the host counts nothing.
///
/// From: the Kazan course on CUDA programming technology, chapter 4.
result count(condition criterion, const shape& grid);

}  // namespace lab::count_threads
