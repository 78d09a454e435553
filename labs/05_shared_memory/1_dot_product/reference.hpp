// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.1 dot_product: what the results are compared with, and how far they may be from it.
#pragma once

#include <cmath>
#include <span>

#include "lab/dot_reference.hpp"

namespace lab::dot_product {

/// The dot product in double, on the host.
inline double reference(std::span<const float> a, std::span<const float> b) {
  return dot_in_double(a, b);
}

/// How far a float result may be from the reference.
///
/// On its way into the result a product a[i] * b[i] goes through so many roundings: its own, the
/// additions of its thread, the levels of the tree, the result's. With 1024 threads or more, a
/// thread adds at most n / 1024 products, rounded up; 32 more covers the rest: a block of 1024
/// threads has 10 levels. Each rounding is off by at most 2^-24 of what is rounded, and what is
/// rounded is at most the sum of the |a[i] * b[i]|: where terms cancel, the result can be much
/// smaller than that, and no order of the additions brings back what the large terms rounded away.
inline double error_bound(std::span<const float> a, std::span<const float> b) {
  return dot_error_bound(a, b, std::ceil(static_cast<double>(a.size()) / 1024) + 32);
}

}  // namespace lab::dot_product
