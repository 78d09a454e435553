// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// EXERCISE_ID EXERCISE_NAME: the contract of the .cu file.
// AUTHOR: value in, value out: spans and plain values in, vectors, structs or numbers out; no
//         device pointers. Say shapes, units, what is thrown when, and where the exercise is from.
#pragma once

#include <span>
#include <vector>

namespace lab::EXERCISE_NAME {

struct result {
  std::vector<float> values;  ///< as long as the input
  float kernel_ms = 0;        ///< the time of the kernel alone, in milliseconds
};

/// values[i] = 2 * input[i] for every i. An empty input has an empty result.
///
/// Doubling rounds nothing, so the result is the same bit for bit whoever computes it.
///
/// Throws lab::invalid_input when there are more elements than a grid has threads;
/// lab::cuda_error when CUDA reports an error. Neither leaves device memory behind.
///
/// Requires: a kernel whose threads share the elements; the host computes none.
///
/// From: the template of a new exercise.
result twice(std::span<const float> input);

}  // namespace lab::EXERCISE_NAME
