// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.7 commuting_matrices: the contract. What the program and the tests expect of
// commuting_matrices.cu.
#pragma once

#include <cstddef>
#include <span>

namespace lab::commuting_matrices {

/// Rows and columns of the program's matrices on the CPU device unless it is told otherwise.
inline constexpr std::size_t kDefaultSize = 256;

/// What `relative` is for whole numbers: all products and sums below 2^24 are exact, so entries are
/// the same or they are not.
constexpr float kExact = 0;

/// What `relative` is for other numbers: the most by which roundings alone can set an entry of A ·
/// B and one of B · A apart, as a part of the sum of all |a * b| and |b * a| in them.
///
/// A and B commute, but their elements were rounded to floats, each by at most 2^-24 of itself: two
/// roundings in a product. In the sum of n products each goes through n more, at most (its own, and
/// the additions that it is part of). The factor 1 + 2^-8 covers the higher orders while n < 2^15,
/// also those of the sum of magnitudes, which is rounded itself.
constexpr float rounding_allowance(std::size_t n) {
  return static_cast<float>((static_cast<double>(n) + 2) * 0x1p-24 * (1 + 0x1p-8));
}

struct result {
  std::size_t differing = 0;  ///< entries in which A · B and B · A differ; 0: A and B commute
  float kernel_ms = 0;        ///< the time of the kernel alone
};

/// How many entries of A · B differ from those of B · A. Both are n x n and row-major. Neither
/// product is stored.
///
/// An entry differs unless |ab - ba| <= relative * (sum |a * b| + sum |b * a|), where ab and ba are
/// the sums of the same products with their signs. One in which any of these sums, that of the
/// magnitudes included, is a NaN or beyond the largest float differs.
///
/// Throws lab::invalid_input unless A and B have n * n elements each, and when `relative` is not a
/// finite number of at least 0; lab::cuda_error when CUDA reports an error. Neither leaves device
/// memory behind.
///
/// Requires: a kernel whose threads share the entries, with A and B as the only matrices in device
/// memory; no library multiplies.
///
/// From: the Kazan course on CUDA programming technology, chapter 6, homework.
result compare_products(std::span<const float> a, std::span<const float> b, std::size_t n,
                        float relative);

}  // namespace lab::commuting_matrices
