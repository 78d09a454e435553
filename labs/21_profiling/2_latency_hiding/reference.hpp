// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 21.2 latency_hiding: the same on the host, in whole numbers or bit for bit.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "latency_hiding.hpp"

namespace lab::latency_hiding {

inline std::uint32_t reference_sum(std::span<const std::uint32_t> values) {
  return std::accumulate(values.begin(), values.end(), std::uint32_t{0});
}

/// std::fma rounds once, as the device does.
inline std::vector<float> reference_advance(std::span<const float> values, unsigned rounds) {
  std::vector<float> result(values.begin(), values.end());
  for (float& y : result)
    for (unsigned i = 0; i < rounds; ++i) y = std::fma(kScale, y, kShift);
  return result;
}

inline std::uint32_t reference_chase(std::span<const std::uint32_t> next, unsigned hops) {
  std::uint32_t here = 0;
  for (unsigned i = 0; i < hops; ++i) here = next[here];
  return here;
}

/// A single tour through the elements 0, spacing, 2 * spacing, … of `n` in random order (S.
/// Sattolo, An Algorithm to Generate a Random Cyclic Permutation, 1986). The others lead to element
/// 0.
inline std::vector<std::uint32_t> random_tour(std::size_t n, std::size_t spacing,
                                              std::uint64_t seed) {
  std::vector<std::uint32_t> order((n + spacing - 1) / spacing);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i * spacing);
  std::mt19937_64 random(seed);
  for (std::size_t i = order.size(); i-- > 1;) std::swap(order[i], order[random() % i]);
  std::vector<std::uint32_t> next(n);
  for (std::size_t i = 0; i < order.size(); ++i) next[i * spacing] = order[i];
  return next;
}

}  // namespace lab::latency_hiding
