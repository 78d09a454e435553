// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 14.1 bitonic_sort: what the results are compared with.
#pragma once

#include <bit>
#include <cstddef>

#include "bitonic_sort.hpp"

namespace lab::bitonic_sort {

// lab::check_sorted() (lab/key_value.hpp) is the check: each array in order, and with the same
// pairs as before. Keys are whole numbers, so nothing is rounded; pairs with equal keys may stand
// in any order, so there is not one right result to compare with.

/// How many stages the network has: 1 + 2 + … + log2(length).
inline std::size_t stages(std::size_t length) {
  const auto levels = static_cast<std::size_t>(std::countr_zero(length));
  return levels * (levels + 1) / 2;
}

}  // namespace lab::bitonic_sort
