// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 17.2 async_copy: what the results are compared with, and how far they may be from it:
// lab/matrix_closeness.hpp has the bound and its reason.
#pragma once

#include <cstddef>
#include <span>

#include "async_copy.hpp"
#include "lab/matrix_closeness.hpp"

namespace lab::async_copy {

/// Compares rows 0, stride, 2 * stride, … of C, and the last one, with the product in double.
inline comparison check(std::span<const float> c, std::span<const float> a,
                        std::span<const float> b, shape size, std::size_t row_stride = 1) {
  return compare_product(c, a, b, size.m, size.n, size.k, row_stride);
}

}  // namespace lab::async_copy
