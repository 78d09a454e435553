// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 10.5 atomic_toolbox: the contract. What the program and the tests expect of atomic_toolbox.cu.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lab::atomic_toolbox {

// --- one cell, many requests ---------------------------------------------------------------------

/// What an atomic function leaves in a cell that holds `old`, when it is called with `value`. All
/// in unsigned numbers of 32 bits, which wrap around.
enum class operation {
  add,   ///< old + value
  sub,   ///< old - value
  exch,  ///< value
  min,   ///< the smaller of the two
  max,   ///< the larger of the two
  inc,   ///< 0 if old >= value, else old + 1: it counts 0, 1, … value, 0, 1, …
  dec,   ///< value if old == 0 or old > value, else old - 1: it counts value, … 1, 0, value, …
  cas,   ///< compare and swap: value if old == expected, else old
  bit_and,  ///< the bits that are set in both
  bit_or,   ///< the bits that are set in either
  bit_xor,  ///< the bits that are set in one of the two
};

struct request {
  std::uint32_t value = 0;
  std::uint32_t expected = 0;  ///< only for cas
};

struct outcome {
  std::uint32_t left = 0;               ///< in the cell at the end
  std::vector<std::uint32_t> returned;  ///< for each request what was in the cell before it
  float kernel_ms = 0;                  ///< the time of the kernel alone
};

/// A cell holds `start`. A thread for each request calls the operation on it, all in one launch.
/// There is an order of the requests that explains everything: carried out one after the other,
/// each returns what it has returned, and at the end there is left what is left. (is_possible() in
/// reference.hpp looks for one.) Without requests the cell is left as it is.
///
/// Throws lab::cuda_error when CUDA reports an error, and leaves no device memory behind.
///
/// From: the Kazan course on CUDA programming technology, chapter 4.
outcome apply(operation op, std::uint32_t start, std::span<const request> requests);

// --- a function that CUDA does not have ----------------------------------------------------------

/// The largest of the values; -infinity without any. If there is a NaN among them the result is
/// a NaN (as it would be of their sum), and +0 is larger than -0. So the result does not depend on
/// the order of the values. Throws as above.
float float_max(std::span<const float> values);

// --- scopes --------------------------------------------------------------------------------------

constexpr std::size_t kGroup = 256;  ///< values of one block, in sums_of_groups()

/// The sum of the values 0 to 255, that of 256 to 511, and so forth; the last one is that of what
/// is left. Each is the work of one block, whose threads add to a cell of the block's own in device
/// memory. Sums wrap around. Without values there are no sums. Throws as above.
std::vector<std::uint32_t> sums_of_groups(std::span<const std::uint32_t> values);

/// One counter in managed memory, which holds `start`. `threads` threads of the device (any
/// number) add `amount` to it, each once; meanwhile the host adds `amount` to it `host_times`
/// times. Returns what it holds in the end: start + (threads + host_times) * amount, which wraps
/// around.
///
/// Throws lab::not_possible where the current device does not allow the host to access managed
/// memory while a kernel runs (cudaDevAttrConcurrentManagedAccess); else as above.
///
/// Requires: in all four functions, kernels whose threads use atomic functions: a thread for each
/// request, value or addition; the host only adds in add_together(), while the kernel runs.
///
/// From: the same chapter, with 10 threads that add 10 each, and a host that adds 10.
std::uint32_t add_together(std::uint32_t start, unsigned threads, unsigned host_times,
                           std::uint32_t amount);

}  // namespace lab::atomic_toolbox
