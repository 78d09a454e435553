// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 07.1 constant_add: the contract. What the program and the tests expect of constant_add.cu.
#pragma once

#include <span>
#include <vector>

namespace lab::constant_add {

struct result {
  std::vector<int> sum;  ///< as long as a and b
  float kernel_ms = 0;   ///< the time of the kernel alone
};

/// sum[i] = a[i] + b[i] + addend for every i. The addend reaches the kernel as a `__constant__`
/// variable, not as an argument.
///
/// What does not fit an int wraps around, as in arithmetic with unsigned numbers. Empty vectors
/// have an empty sum, and the constant stays as it was.
///
/// Throws lab::invalid_input when the lengths differ; lab::cuda_error when CUDA reports an error.
/// Neither leaves device memory behind. The other functions do the same.
///
/// Requires: a kernel with a thread for each element, which reads the addend from a `__constant__`
/// variable.
///
/// From: the Kazan course on CUDA programming technology, chapter 8 (c = a + b + add, with one
/// addend).
result add(std::span<const int> a, std::span<const int> b, int addend);

/// The same for one addend after the other, a launch for each: the element [k * n + i] of the
/// result is a[i] + b[i] + addends[k], where n is the length of a and of b. The constant has the
/// last addend afterwards. Without addends, or with empty vectors, the result is empty and the
/// constant stays.
std::vector<int> add_each(std::span<const int> a, std::span<const int> b,
                          std::span<const int> addends);

/// What the constant holds now on the current device: the addend of the last launch there, 0 before
/// the first. (Each device has its own.)
int current_addend();

}  // namespace lab::constant_add
