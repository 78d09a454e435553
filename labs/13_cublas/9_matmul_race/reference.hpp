// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.9 matmul_race: what the products are compared with, and how far they may be from it:
// lab/matrix_closeness.hpp has the bound and its reason. Two racers may differ by twice as much.
#pragma once

#include <span>

#include "lab/matrix_closeness.hpp"
#include "matmul_race.hpp"

namespace lab::matmul_race {

/// Compares C with A · B, added up in double.
inline comparison check(std::span<const float> c, std::span<const float> a,
                        std::span<const float> b, shape size) {
  return compare_product(c, a, b, size.m, size.n, size.k);
}

}  // namespace lab::matmul_race
