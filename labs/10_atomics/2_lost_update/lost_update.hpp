// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 10.2 lost_update: the contract. What the program and the tests expect of lost_update.cu.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lab::lost_update {

// --- slow motion: x++ as three steps, in an order that is laid down ------------------------------

/// The three steps of x++. Each thread has a register of its own, which is 0 at first.
enum class operation {
  read,   ///< register = x
  add,    ///< register = register + 1
  write,  ///< x = register
};

/// Who is next, and what it does.
struct turn {
  unsigned thread = 0;
  operation op = operation::read;
};

/// What there is when a turn is over.
struct moment {
  std::int32_t x = 0;
  std::int32_t own = 0;  ///< the register of the thread whose turn it was
  bool operator==(const moment&) const = default;
};

constexpr unsigned kMostThreads = 1024;  ///< of a replay: they are one block

/// Lets one block of `threads` threads do the turns of the schedule, one after the other, on an x
/// that is `start` at first. Returns a moment for each turn. Numbers wrap around as in any int of
/// the device: no value is special.
///
/// Throws lab::invalid_input unless 1 <= threads <= kMostThreads, and when a turn is that of a
/// thread which is not there; lab::cuda_error when CUDA reports an error. Neither leaves device
/// memory behind.
///
/// Requires: in replay() a block of as many threads as were asked for, which take turns; in count()
/// a grid of this shape, whose threads use an atomic function.
///
/// From: J. Sanders, E. Kandrot, CUDA by Example, 9.3: two tables, which the program prints.
std::vector<moment> replay(std::span<const turn> schedule, unsigned threads, std::int32_t start);

// --- full speed ----------------------------------------------------------------------------------

/// The program's unless it is told otherwise: blocks, threads of a block, and how often each of
/// these counts itself.
inline constexpr unsigned kDefaultBlocks = 64, kDefaultThreads = 256, kDefaultRounds = 10;

struct result {
  std::uint64_t count = 0;
  float kernel_ms = 0;  ///< the time of the kernel alone; 0 where nothing was launched
};

/// Every thread of `blocks` blocks of `threads` threads counts itself `rounds` times, in one
/// counter in device memory. The count is blocks * threads * rounds. Where one of the three is 0,
/// it is 0 and nothing is launched.
///
/// Throws lab::invalid_input when there are more threads or blocks than the current device allows;
/// lab::cuda_error as above.
result count(unsigned blocks, unsigned threads, unsigned rounds);

}  // namespace lab::lost_update
