// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 15.1 lock: the contract. What the program and the tests expect of lock.cu.
#pragma once

#include <cstdint>

namespace lab::lock {

/// Who takes the lock, and by what means.
enum class step {
  one_per_block,  ///< one thread of each block, for all of them; atomicCAS and fences
  lanes_in_turn,  ///< every thread, the lanes of a warp one after the other
  atomic_ref,     ///< as lanes_in_turn; cuda::atomic_ref with acquire and release, no fences
};

/// A grid, and how often each of its threads is to be counted.
struct work {
  unsigned blocks = 0;
  unsigned threads = 0;  ///< in a block; any number, not only multiples of a warp
  unsigned times = 0;
};

/// The program's unless it is told otherwise.
inline constexpr work kDefaultWork = {.blocks = 64, .threads = 256, .times = 1};

struct result {
  std::uint64_t count = 0;    ///< blocks * threads * times
  std::uint64_t entries = 0;  ///< how often the lock was taken for it
  float kernel_ms = 0;        ///< the time of the kernel alone
};

/// Counts every thread of a grid, `times` times, in one plain number that a lock protects.
///
/// The count is exact. Step one_per_block takes the lock blocks * times times, the others
/// blocks * threads * times times. A grid without blocks or threads, or 0 times, counts 0.
///
/// Throws lab::invalid_input when the device cannot have such a grid or such blocks;
/// lab::cuda_error when CUDA reports an error. Neither leaves device memory behind.
///
/// Requires: a kernel of the shape that was asked for, which takes a lock made of atomics around a
/// plain number.
///
/// From: J. Sanders, E. Kandrot, CUDA by Example, A.1.1.
result count(step version, const work& job);

}  // namespace lab::lock
