// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.2 group_reduce: the contract. What the program and the tests expect of group_reduce.cu.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lab::group_reduce {

/// Rows of the program's matrix, elements of a row, and threads for one, unless it is told
/// otherwise.
inline constexpr std::size_t kDefaultRows = std::size_t{1} << 16, kDefaultLength = 20;
inline constexpr unsigned kDefaultTile = 8;

/// How threads of a row add up what they have.
enum class step {
  tiles,      ///< the threads of a tile add up by the tile's own shuffles
  reduce,     ///< `cooperative_groups::reduce` adds up
  coalesced,  ///< the threads that have an element at the moment add these up, and one of them adds
              ///< the result to the row's sum by an atomic addition
};

struct result {
  std::vector<std::uint32_t> sums;  ///< one per row
  float kernel_ms = 0;              ///< the time of the kernel alone
};

/// For each row of a matrix, the sum of those elements that are less than `limit`, modulo 2^32; 0
/// if there are none. `values` has the rows one after the other, each of `length` elements. A tile
/// of `tile` threads, which is 1, 2, 4, 8, 16 or 32, reads a row. Without values there are no rows.
///
/// All sums are modulo 2^32, so every order of adding gives the same result.
///
/// Throws lab::invalid_input when `tile` is another number, when `length` is 0, when the number of
/// values is no multiple of `length`, or when there would be more blocks than the current device
/// allows; lab::cuda_error when CUDA reports an error. Neither leaves device memory behind.
///
/// Requires: a kernel whose threads share the sum of a row, without shared memory. With tiles and
/// reduce there are no atomic operations. With tiles there are log2(tile) exchanges per row, and
/// with reduce it is one call per row. With coalesced each element that counts goes to the row's
/// sum at once, and not by way of a sum of the thread; but there is at most one atomic addition for
/// each `tile` elements of a row.
///
/// From: the CUDA C++ Programming Guide, "Cooperative Groups"; M. Harris, K. Perelygin, Cooperative
/// Groups: Flexible CUDA Thread Programming, NVIDIA Technical Blog, 2017 (tiles); A. Adinetz,
/// Optimized Filtering with Warp-Aggregated Atomics, NVIDIA Technical Blog, 2014 (coalesced).
result sum_rows(step version, std::span<const std::uint32_t> values, std::size_t length,
                std::uint32_t limit, unsigned tile);

}  // namespace lab::group_reduce
