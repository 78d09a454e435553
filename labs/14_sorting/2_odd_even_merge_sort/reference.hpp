// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 14.2 odd_even_merge_sort: what the results are compared with.
#pragma once

#include <bit>
#include <cstddef>

#include "odd_even_merge_sort.hpp"

namespace lab::odd_even_merge_sort {

// lab::check_sorted() (lab/key_value.hpp) is the check: each array in order, and with the same
// pairs as before. Keys are whole numbers, so nothing is rounded; pairs with equal keys may stand
// in any order, so there is not one right result to compare with.

/// How many comparators the network has for one array. A merge to 2^L elements has 2^(L-1) in its
/// first stage, and 2^(L-1) - 2^bit in that of each lower bit: together 2^(L-1) * (L - 1) + 1.
inline std::size_t comparators(std::size_t length) {
  const auto levels = static_cast<std::size_t>(std::countr_zero(length));
  std::size_t all = 0;
  for (std::size_t level = 1; level <= levels; ++level) {
    const std::size_t of_merge = (std::size_t{1} << (level - 1)) * (level - 1) + 1;
    all += of_merge * (length >> level);
  }
  return all;
}

/// The same of the bitonic network: all places are in a comparator, in every stage.
inline std::size_t bitonic_comparators(std::size_t length) {
  const auto levels = static_cast<std::size_t>(std::countr_zero(length));
  return length / 2 * (levels * (levels + 1) / 2);
}

}  // namespace lab::odd_even_merge_sort
