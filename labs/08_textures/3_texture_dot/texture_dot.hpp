// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 08.3 texture_dot: the contract. What the program and the tests expect of texture_dot.cu.
#pragma once

#include <cstddef>
#include <span>

namespace lab::texture_dot {

/// How many elements the program takes unless it is told otherwise.
inline constexpr std::size_t kDefaultSize = 100'000;

/// Where the texture of a lies, and where that of b.
enum class step {
  array_array,    ///< both in CUDA arrays
  array_linear,   ///< a in a CUDA array, b in linear memory
  linear_linear,  ///< both in linear memory
};

/// The longest vectors that a step takes on the current device: as long as its shorter kind of
/// texture may be. For all that have an array in them, most_texels_in_an_array() of
/// lab/texture.hpp; else most_texels_in_linear_memory().
std::size_t longest(step version);

struct result {
  float value = 0;
  float kernel_ms = 0;  ///< the time of the kernel alone
};

/// a[0] * b[0] + a[1] * b[1] + … , where all elements are read through textures, by the current
/// device. The dot product of empty vectors is 0.
///
/// Accuracy: at most dot_error_bound(a, b) (lab/dot_reference.hpp) from the exact sum. All steps
/// add the same numbers in the same order: their results are equal, bit by bit.
///
/// Throws lab::invalid_input when the lengths differ, and when they are more than longest(version),
/// with a sentence that has both numbers; lab::cuda_error when CUDA reports an error. Neither
/// leaves memory or a texture object behind.
///
/// Requires: a kernel whose threads share the sum, where there are thousands of elements in four
/// blocks or more, and read all elements of both vectors through texture objects, over arrays or
/// linear memory as the step says.
///
/// From: the homework of the Kazan course on CUDA programming technology, chapter 8.
result dot(step version, std::span<const float> a, std::span<const float> b);

}  // namespace lab::texture_dot
