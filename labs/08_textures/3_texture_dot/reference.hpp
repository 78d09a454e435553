// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 08.3 texture_dot: what the results are compared with, and how far they may be from it.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>

#include "lab/dot_reference.hpp"

namespace lab::texture_dot {

/// The dot product in double, on the host.
inline double reference(std::span<const float> a, std::span<const float> b) {
  return dot_in_double(a, b);
}

/// How far a float result may be from the reference: each product goes through m roundings of a
/// float on its way into the result, and each moves it by at most 2^-24 of itself. With 1024
/// threads or more, a thread adds at most n / 1024 products, rounded up; 32 more covers the product
/// itself, the tree of a block and the result. A fetch at a texel's middle, without a filter,
/// rounds nothing.
inline double error_bound(std::span<const float> a, std::span<const float> b) {
  return dot_error_bound(a, b, std::ceil(static_cast<double>(a.size()) / 1024) + 32);
}

}  // namespace lab::texture_dot
