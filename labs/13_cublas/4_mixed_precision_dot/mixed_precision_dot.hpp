// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.4 mixed_precision_dot: the contract. What the program and the tests expect of
// mixed_precision_dot.cu.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace lab::mixed_precision_dot {

/// How many elements the program takes unless it is told otherwise.
inline constexpr std::size_t kDefaultSize = 1'000'001;

enum class step {
  in_float,   ///< cublasDotEx with vectors, result and arithmetic in float
  in_double,  ///< the vectors are made double on the device, piece by piece; cublasDotEx in double
};

struct result {
  double value = 0;
  float kernel_ms = 0;  ///< the time of all that the device did
};

/// x[0] * y[0] + x[1] * y[1] + … of two vectors of floats.
///
/// Accuracy: in_float is at most float_bound(x, y) from the exact sum, in_double at most
/// double_bound(x, y) (reference.hpp). In double, whole numbers below 2^24 give the exact result as
/// long as the sums stay below 2^53; a float would have to be below 2^24 for that. in_double needs
/// device memory for at most 2^19 doubles beside the vectors.
///
/// Throws lab::invalid_input when the lengths differ or are more than an int can count;
/// lab::cublas_error when cuBLAS reports a failure; lab::cuda_error when CUDA does. Neither device
/// memory nor a handle is left behind.
///
/// Requires: cublasDotEx in both steps. in_float: it gets the floats as they are, and no kernel is
/// needed; in_double: a kernel of yours makes doubles of a piece of each vector.
///
/// From: the Kazan course on CUDA programming technology, chapter 9, example 4 (DotEx of float
/// vectors with a result in double, which cuBLAS does not document); the conversion is ours.
result dot(step version, std::span<const float> x, std::span<const float> y);

/// Asks cublasDotEx for float vectors with result and arithmetic in double. Nothing, where cuBLAS
/// says CUBLAS_STATUS_NOT_SUPPORTED: that is an answer, and no error. Throws as dot() for anything
/// else.
std::optional<double> ask_for_mixed_types(std::span<const float> x, std::span<const float> y);

}  // namespace lab::mixed_precision_dot
