// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 18.2 tf32_product: what the results are compared with, and how far they may be from it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "lab/matrix_closeness.hpp"
#include "tf32_product.hpp"

namespace lab::tf32_product {

/// The largest relative error of rounding to TF32, which has 11 bits.
inline constexpr double kUnitRoundoff = 0x1p-11;

/// How far an element of C may be from the exact one, relative to sum |a * b| of its k products.
///
/// Both factors of a product are off by at most u of themselves, so the product by at most
/// 2u + u^2, whichever neighbour a tie goes to. The rounded products are at most (1 + u)^2 times as
/// large. They are exact, and tensor cores add them with an error of at most
/// tensor_core_factor(k) * (k + 1) * 2^-24 = 3 * (k + 4) * 2^-24 of the sum of their sizes
/// (lab/matrix_closeness.hpp). Numbers below 2^-126, where TF32 has fewer bits, are left out: no
/// test comes near them.
inline double error_bound(std::size_t k) {
  constexpr double u = kUnitRoundoff;
  return 2 * u + u * u + (1 + u) * (1 + u) * 3 * (static_cast<double>(k) + 4) * 0x1p-24;
}

/// B with k rows of n elements.
inline std::vector<float> transposed(std::span<const float> b, std::size_t n, std::size_t k) {
  std::vector<float> out(b.size());
  for (std::size_t row = 0; row < n; ++row)
    for (std::size_t i = 0; i < k; ++i) out[i * n + row] = b[row * k + i];
  return out;
}

/// Compares rows 0, stride, 2 * stride, … of C, and the last one, with the product in double of the
/// matrices as they are given.
inline comparison check(std::span<const float> c, std::span<const float> a,
                        std::span<const float> b, shape size, std::size_t row_stride = 1) {
  // compare_product() allows (k + 1) * 2^-24 of sum |a * b|, times this.
  const double factor = error_bound(size.k) / ((static_cast<double>(size.k) + 1) * 0x1p-24);
  return compare_product<float>(c, a, transposed(b, size.n, size.k), size.m, size.n, size.k,
                                row_stride, factor);
}

}  // namespace lab::tf32_product
