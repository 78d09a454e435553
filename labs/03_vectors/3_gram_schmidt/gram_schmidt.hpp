// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 03.3 gram_schmidt: the contract. What the program and the tests expect of gram_schmidt.cu.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab::gram_schmidt {

/// How many vectors the program takes, and components of each, unless it is told otherwise.
inline constexpr std::size_t kDefaultSize = 256;

/// A vector has to be longer than this, whatever the others are like.
inline constexpr double kLeastLength = 0x1p-50;

/// Two orders of the same operations. In numbers without rounding they would agree.
enum class step {
  classical,  ///< all projections of a vector are computed from it as given, and subtracted at once
  modified,   ///< the projections on each finished vector are subtracted from all later vectors
};

struct result {
  std::vector<float> b;    ///< as long as a, and in the same order
  float milliseconds = 0;  ///< from the first kernel to the last, sums on the host included
};

/// Makes vectors orthogonal: b_0 = a_0, and b_i is a_i without its projections on b_0 … b_(i-1):
///
///     b_i = a_i - sum over k < i of (a_i, b_k) / (b_k, b_k) * b_k
///
/// So any two b are perpendicular, up to rounding, and b_0 … b_i span what a_0 … a_i span. The
/// lengths are not made 1.
///
/// `a` holds `count` vectors of `length` components, one after the other. How far the results may
/// be off is in reference.hpp. Without vectors the result is empty.
///
/// Throws lab::invalid_input when a.size() is not count * length; when a component, or the sum of
/// the squares of a vector, is infinite or not a number; when there are more vectors than
/// components; and, naming the vector, when the vectors are linearly dependent. A vector
/// counts as dependent if no more than count * 2^-20 of its length is left, since that much may be
/// rounding, or no more than kLeastLength: the squares of much smaller floats have few digits or
/// none.
/// Throws lab::cuda_error when CUDA reports an error. None leaves device memory behind.
///
/// Requires: kernels for the dot products and for the subtractions, with the components shared by
/// threads; the vectors are copied to the device once. The host adds partial sums and divides, and
/// no more.
///
/// From: the Kazan course on CUDA programming technology, chapter 5, homework.
result orthogonalize(step version, std::span<const float> a, std::size_t count, std::size_t length);

}  // namespace lab::gram_schmidt
