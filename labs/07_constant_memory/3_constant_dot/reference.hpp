// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 07.3 constant_dot: what the results are compared with, and how far they may be from it.
#pragma once

#include <span>

#include "lab/dot_reference.hpp"

namespace lab::constant_dot {

/// How far a float result may be from the reference: each product goes through m roundings of a
/// float on its way into the result, and each moves it by at most 2^-24 of itself. A thread that
/// adds at most 16 products (1024 threads for a pass) makes 17 of them, the tree of a block up to
/// 10, and the result one: 32 is enough. The blocks' sums are added in double.
inline double error_bound(std::span<const float> a, std::span<const float> b) {
  return dot_error_bound(a, b, 32);
}

}  // namespace lab::constant_dot
