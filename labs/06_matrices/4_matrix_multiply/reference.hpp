// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.4 matrix_multiply: what the results are compared with, and how far they may be from it:
// lab/matrix_closeness.hpp has the bound and its reason.
#pragma once

#include <cstddef>
#include <span>

#include "lab/matrix_closeness.hpp"
#include "matrix_multiply.hpp"

namespace lab::matrix_multiply {

/// Compares rows 0, stride, 2 * stride, … of C, and the last one, with the product in double.
template <class T>
comparison check(std::span<const T> c, std::span<const T> a, std::span<const T> b, shape size,
                 std::size_t row_stride = 1) {
  return compare_product(c, a, b, size.m, size.n, size.k, row_stride);
}

}  // namespace lab::matrix_multiply
