// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 10.4 histogram: the contract. What the program and the tests expect of histogram.cu.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lab::histogram {

/// How many bytes the program counts on the CPU device unless it is told otherwise.
inline constexpr std::size_t kDefaultSize = std::size_t{32} << 20;

inline constexpr unsigned kBins = 256;  ///< one for each value of a byte

/// Four ways to count, in the order in which they are written.
enum class step {
  cpu,             ///< a loop on the host
  global_atomics,  ///< all threads count in the same 256 counters, in global memory
  shared_atomics,  ///< each block counts in 256 counters of its own, in shared memory, and adds
                   ///< them to the global ones when it is done
  lane_copies,     ///< each block has 32 copies of the 256 counters, one for each lane of a warp;
                   ///< bytes are loaded 16 at a time
};

struct result {
  /// kBins counts: count[v] is how many bytes have the value v. 64 bits, so that no amount of
  /// memory is too much: 4 GiB of equal bytes are one more than 32 bits can count.
  std::vector<std::uint64_t> count;
  float kernel_ms = 0;  ///< zeroing the counters and the kernel; for step cpu, the loop
};

/// Counts how often each value occurs. The counts add up to bytes.size(); without bytes all are 0.
///
/// `threads` is the size of a block, any from 1 to the device's largest; 0 leaves it to the step.
/// The result is the same for all of them. Step cpu has no blocks and takes no notice.
///
/// Throws lab::invalid_input when `threads` is more than the current device's blocks can have;
/// lab::cuda_error when CUDA reports an error. Neither leaves device memory behind.
///
/// Requires: a kernel whose threads share the bytes and count by atomic functions: in global
/// memory, in shared memory, or in a copy for each lane, with 16 bytes per load; step cpu launches
/// nothing.
///
/// From: J. Sanders, E. Kandrot, CUDA by Example, 9.4. The step lane_copies is ours.
result count(step version, std::span<const std::uint8_t> bytes, unsigned threads = 0);

}  // namespace lab::histogram
