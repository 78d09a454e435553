// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 07.3 constant_dot: the contract. What the program and the tests expect of constant_dot.cu.
#pragma once

#include <cstddef>
#include <span>

namespace lab::constant_dot {

/// How many elements the program takes unless it is told otherwise.
inline constexpr std::size_t kDefaultSize = 100'000;

enum class step {
  global_memory,    ///< both vectors are arrays in device memory; one launch
  constant_memory,  ///< b comes through a __constant__ array, in as many passes as it takes
};

/// A GPU has 64 KiB of constant memory. So many floats fit, and so many are a pass.
inline constexpr std::size_t kMostInAPass = 64 * 1024 / sizeof(float);

struct result {
  float value = 0;
  std::size_t passes = 0;  ///< launches: of constant_memory, n / kMostInAPass rounded up
  float kernel_ms = 0;     ///< the time of the kernels alone, without the copies between them
};

/// a[0] * b[0] + a[1] * b[1] + … . The dot product of empty vectors is 0, in no pass.
///
/// Accuracy: at most error_bound(a, b) (reference.hpp) from the exact sum. Any way in which a
/// thread adds at most 16 products stays within it. Where products and sums are whole numbers below
/// 2^24, nothing is rounded and the result is exact.
///
/// Throws lab::invalid_input when the lengths differ; lab::cuda_error when CUDA reports an error.
/// Neither leaves device memory behind.
///
/// Requires: kernels whose threads share the sum, those of a full pass in four blocks or more; in
/// step constant_memory one kernel for each pass, which reads b from a `__constant__` array and
/// never from device memory.
///
/// From: the classroom task of the Kazan course on CUDA programming technology, chapter 8.
result dot(step version, std::span<const float> a, std::span<const float> b);

}  // namespace lab::constant_dot
