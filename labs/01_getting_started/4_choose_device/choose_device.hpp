// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 01.4 choose_device: the contract. What the program and the tests expect of choose_device.cu.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace lab::choose_device {

/// What the choice depends on.
struct candidate {
  int device = -1;        ///< its number
  int compute_major = 0;  ///< the compute capability, 9.0 for example: before the point …
  int compute_minor = 0;  ///< … and after it
  std::size_t global_bytes = 0;
  int multiprocessors = 0;
  int clock_khz = 0;     ///< of the multiprocessors; 0 where CUDA does not tell
  int compute_mode = 0;  ///< a cudaComputeMode; cudaComputeModeProhibited (2) lets no process in

  bool operator==(const candidate&) const = default;
};

/// What a program cannot do without.
struct requirement {
  int compute_major = 0;  ///< at least this compute capability: 7.5 is less than 8.0
  int compute_minor = 0;
  std::size_t global_bytes = 0;  ///< at least this much global memory
};

/// The facts about every visible device, in the order of their numbers. The current device stays
/// what it is. Throws lab::cuda_error when CUDA reports an error.
std::vector<candidate> list_candidates();

/// The number of the best device of a list, by this rule:
///
/// 1. A device that does not meet the requirement is out, and so is one that lets no process in.
/// 2. Of the others, the one with the largest multiprocessors * clock_khz is the best.
/// 3. Where that is equal, the one with more global memory; where that is equal too, the one with
///    the smallest number.
///
/// Nothing where no device is left, and for an empty list. The list may be in any order.
std::optional<int> best(std::span<const candidate> list, const requirement& needed);

/// Makes a device the current one of this thread, then asks CUDA which one is current and returns
/// the answer.
///
/// Throws lab::invalid_input, with the number, when there is no such device; no CUDA error is left
/// behind then, and the current device is the one it was. Throws lab::cuda_error when CUDA reports
/// an error.
///
/// Requires: the runtime's facts in list_candidates(), and its answer in select(); best() is plain
/// C++.
///
/// From: J. Sanders, E. Kandrot, CUDA by Example, 3.4.
int select(int device);

}  // namespace lab::choose_device
