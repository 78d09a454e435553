// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.1 warp_sum: the contract. What the program and the tests expect of warp_sum.cu.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lab::warp_sum {

/// How many values the program adds, and threads of a block, unless it is told otherwise.
inline constexpr std::size_t kDefaultSize = std::size_t{1} << 20;
inline constexpr unsigned kDefaultThreads = 256;

/// How the lanes of a warp add up their numbers, so that in the end every lane has the sum.
enum class step {
  shuffle_down,  ///< a tree of `__shfl_down_sync`, after which lane 0 has the sum, and one
                 ///< `__shfl_sync` that passes it on
  butterfly,     ///< `__shfl_xor_sync`: pairs of lanes exchange what they have
  reduce_sync,   ///< `__reduce_add_sync`: one instruction (devices before compute capability 8.0
                 ///< do not have it: there as butterfly)
};

/// What each thread has after the lanes of its warp have added up their values. Element i is that
/// of thread i of the grid; its own value is values[i]. Blocks have `threads` threads, from 1 to as
/// many as the device allows, and as many blocks are launched as there are values for. Lanes
/// without a value add 0.
///
/// `threads` need not be a multiple of 32: then the last warp of each block has fewer lanes than
/// 32. A warp never reaches into the next block. For example, with 40 threads per block, elements 0
/// to 31 are equal, elements 32 to 39 are equal, and so are elements 40 to 71.
///
/// All sums are modulo 2^32, so every order of adding gives the same result.
///
/// Throws lab::invalid_input when `threads` is 0 or more than the current device allows, or when
/// there would be more blocks than it allows; lab::cuda_error when CUDA reports an error. Neither
/// leaves device memory behind.
///
/// Requires: kernels whose lanes exchange their numbers directly (by shuffles, or by a reduction of
/// the warp), without shared memory.
///
/// From: the CUDA C++ Programming Guide, "Warp Shuffle Functions" and "Warp Reduce Functions".
std::vector<std::uint32_t> warp_sums(step version, std::span<const std::uint32_t> values,
                                     unsigned threads);

struct result {
  std::uint32_t value = 0;
  float kernel_ms = 0;  ///< the time of the kernel alone
};

/// The sum of all values, modulo 2^32. The sum of no values is 0. The grid has as many blocks of
/// `threads` threads as the device runs at once, but no more than there is work for.
///
/// Throws as warp_sums().
///
/// Requires: a kernel whose threads share the sum, without shared memory: the lanes of a warp add
/// up what their threads have, as in warp_sums(), and then one atomic addition per warp.
///
/// From: as warp_sums(). That one atomic addition per warp is enough is an idea of M. Harris,
/// Faster Parallel Reductions on Kepler, NVIDIA Technical Blog, 2014.
result sum(step version, std::span<const std::uint32_t> values, unsigned threads = 256);

}  // namespace lab::warp_sum
