// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 20.3 nccl_over_mpi: what the results are compared with, and how far they may be from it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace lab::nccl_over_mpi {

/// The sum of `ranks` vectors in double, once for each rank.
inline std::vector<double> reference(std::span<const float> vectors, int ranks) {
  const std::size_t all = static_cast<std::size_t>(ranks), n = vectors.size() / all;
  std::vector<double> sums(vectors.size());
  for (std::size_t k = 0; k < vectors.size(); ++k)
    for (std::size_t rank = 0; rank < all; ++rank)
      sums[k] += static_cast<double>(vectors[rank * n + k % n]);
  return sums;
}

/// How far an element may be from the reference, in any order of additions: one number of each rank
/// is added up in ranks - 1 additions of floats, each of which is wrong by at most 2^-24 of its
/// result, and no result is larger than the sum of the absolute values (and its errors: the factor
/// of 1.01 covers them for 64 ranks).
inline double error_bound(std::span<const float> vectors, int ranks) {
  const std::size_t all = static_cast<std::size_t>(ranks), n = vectors.size() / all;
  double largest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::size_t rank = 0; rank < all; ++rank)
      sum += std::fabs(static_cast<double>(vectors[rank * n + i]));
    largest = std::max(largest, sum);
  }
  return 1.01 * (ranks - 1) * 0x1p-24 * largest;
}

}  // namespace lab::nccl_over_mpi
