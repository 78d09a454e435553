// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.6 euclidean_norm: the contract. What the program and the tests expect of euclidean_norm.cu.
#pragma once

#include <cstddef>
#include <span>

namespace lab::euclidean_norm {

/// How many elements the program takes unless it is told otherwise.
inline constexpr std::size_t kDefaultSize = 1'000'000;

enum class step {
  by_dot_product,  ///< √(x · x), in floats: wrong where squares overflow or underflow
  scaled_by_max,   ///< m * √(sum of (x[i] / m)²), m the largest |x[i]|: two reductions
  one_pass,        ///< each thread keeps a scale and a sum, and rescales when a larger number comes
};

struct result {
  float value = 0;
  float kernel_ms = 0;  ///< the time of the kernel, or of both
};

/// The Euclidean norm √(x[0]² + x[1]² + …). That of an empty vector is 0.
///
/// by_dot_product is right only while squares and each block's sum of them are floats: where they
/// are too large it gives infinity, and squares below 2^-150 become 0. scaled_by_max and one_pass
/// are right for all finite floats, subnormal ones too; a norm above the largest float is infinity.
/// In every step: with a NaN in x the norm is NaN; else with an infinity, of either sign, infinity.
///
/// Accuracy: at most error_bound(x) (reference.hpp) from the exact norm, where the step is right.
/// Where all x[i] are 0 or plus or minus the same power of two, and fewer than 2^24 are not 0,
/// nothing but the root is rounded, and the result is the float next to the exact norm.
///
/// Throws lab::cuda_error when CUDA reports an error, and leaves no device memory behind.
///
/// Requires: a kernel whose threads share the elements and reduce in shared memory; scaled_by_max
/// reduces twice, one_pass reads x once.
///
/// From: the homework of the Kazan course on CUDA programming technology, chapter 7.
result norm(step version, std::span<const float> x);

}  // namespace lab::euclidean_norm
