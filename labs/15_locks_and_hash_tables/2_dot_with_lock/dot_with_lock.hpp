// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 15.2 dot_with_lock: the contract. What the program and the tests expect of dot_with_lock.cu.
#pragma once

#include <cstddef>
#include <span>

namespace lab::dot_with_lock {

/// How many elements the program takes unless it is told otherwise.
inline constexpr std::size_t kDefaultSize = 33 * 1024 * 1024;

/// Threads of a block.
inline constexpr unsigned kThreads = 256;
/// The largest grid.
inline constexpr unsigned kMostBlocks = 1U << 20;

/// How the sums of the blocks become one.
enum class step {
  locked,      ///< each block adds its sum to the total under a lock, in any order
  atomic_add,  ///< one atomicAdd per block, and no lock
  in_order,    ///< the sum of part 0 first, then that of part 1, …: the same bits every time
};

struct result {
  float value = 0;
  float kernel_ms = 0;  ///< the time of the kernel alone; nothing is added after it
};

/// a[0] * b[0] + a[1] * b[1] + … , by a grid of `blocks` blocks, to the very end on the device. The
/// dot product of empty vectors is 0, and takes no kernel.
///
/// The elements belong to `blocks` parts: element i to part i / kThreads % blocks. A block takes a
/// part, adds up its products as in 05.1, and then its sum s to the total. Step in_order begins
/// with 0 and adds s of part 0, of part 1, and so on, in floats: not only is the result the same in
/// each run, it is the one that this order gives. The others add in an order that is not
/// known beforehand.
///
/// Accuracy: at most error_bound(a, b, blocks) (reference.hpp) from the exact sum. Where products
/// and sums are whole numbers below 2^24, nothing is rounded and the result is exact.
///
/// Any number of blocks gets to the end, also where the device can run only a few of them at a time
/// and starts them in whichever order.
///
/// Throws lab::invalid_input when the lengths differ, or unless blocks is from 1 to kMostBlocks;
/// lab::cuda_error when CUDA reports an error. Neither leaves device memory behind.
///
/// Requires: a kernel of as many blocks as were asked for, which ends with the whole sum: the host
/// adds nothing. One thread speaks for its block. locked: it takes a lock made of atomics around a
/// plain addition to the total; atomic_add: exactly one atomic addition, and no lock; in_order: it
/// draws a ticket.
///
/// From: J. Sanders, E. Kandrot, CUDA by Example, A.1.2; the fixed order is an exercise that it
/// suggests.
result dot(step version, std::span<const float> a, std::span<const float> b, unsigned blocks);

}  // namespace lab::dot_with_lock
