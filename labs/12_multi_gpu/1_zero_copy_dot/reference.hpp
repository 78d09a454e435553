// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 12.1 zero_copy_dot: what the results are compared with, and how far they may be from it.
#pragma once

#include <cmath>
#include <span>

#include "lab/dot_reference.hpp"

namespace lab::zero_copy_dot {

/// The dot product in double, on the host.
inline double reference(std::span<const float> a, std::span<const float> b) {
  return dot_in_double(a, b);
}

/// How far a float result may be from the reference.
///
/// With 1024 threads or more (fewer only where each has a single product), a thread adds at most
/// n / 1024 products, rounded up. 32 more roundings cover the rest: the product's own, the levels
/// of the tree (10 for a block of 1024 threads), the result's.
inline double error_bound(std::span<const float> a, std::span<const float> b) {
  return dot_error_bound(a, b, std::ceil(static_cast<double>(a.size()) / 1024) + 32);
}

}  // namespace lab::zero_copy_dot
