// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 19.3 nccl_sum: what the results are compared with, and how far they may be from it.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "nccl_sum.hpp"

namespace lab::nccl_sum {

/// The n sums in double, and the sums of the absolute values.
struct exact_sums {
  std::vector<double> sums, magnitudes;
};
inline exact_sums reference(int devices, std::span<const float> arrays) {
  const std::size_t n = arrays.size() / static_cast<std::size_t>(devices);
  exact_sums all{std::vector<double>(n), std::vector<double>(n)};
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    all.sums[i % n] += static_cast<double>(arrays[i]);
    all.magnitudes[i % n] += std::fabs(static_cast<double>(arrays[i]));
  }
  return all;
}

/// How far a sum of p floats may be from the exact one, in whatever order they are added: each of
/// p - 1 additions rounds a partial sum, which is no larger than the sum of the absolute values, by
/// at most half an epsilon of it. One more covers that partial sums are rounded themselves.
inline double error_bound(int devices, double magnitude) {
  return static_cast<double>(devices) * magnitude * std::numeric_limits<float>::epsilon() / 2;
}

/// What each device has after a collective, one after the other. For whole numbers the sums of a
/// reduce_scatter are exact.
inline std::vector<float> reference(collective operation, int devices,
                                    std::span<const float> arrays, int root) {
  const auto ranks = static_cast<std::size_t>(devices);
  const std::size_t n = arrays.size() / ranks;
  std::vector<float> all;
  if (operation == collective::reduce_scatter) {
    const exact_sums exact = reference(devices, arrays);
    all.assign(exact.sums.begin(), exact.sums.end());
    return all;
  }
  for (std::size_t k = 0; k < ranks; ++k) {
    const auto part = operation == collective::broadcast
                          ? arrays.subspan(static_cast<std::size_t>(root) * n, n)
                          : arrays;
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

inline double dot_reference(std::span<const float> a, std::span<const float> b) {
  long double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += static_cast<long double>(a[i]) * static_cast<long double>(b[i]);
  return static_cast<double>(sum);
}

/// The product of two floats is exact in double. At most n additions, each of which rounds by half
/// an epsilon of double of what is at most the sum of the absolute values; twice that, since the
/// partial sums are rounded and the reference is, too.
inline double dot_error_bound(std::span<const float> a, std::span<const float> b) {
  double magnitude = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    magnitude += std::fabs(static_cast<double>(a[i]) * static_cast<double>(b[i]));
  return static_cast<double>(a.size()) * magnitude * std::numeric_limits<double>::epsilon();
}

}  // namespace lab::nccl_sum
