// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 10.3 monte_carlo_pi: the same points on the host, and how far from pi they may be.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "monte_carlo_pi.hpp"

namespace lab::monte_carlo_pi {

inline std::uint64_t reference_mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * kFirst;
  z = (z ^ (z >> 27)) * kSecond;
  return z ^ (z >> 31);
}

inline std::uint64_t reference_number(std::uint64_t seed, std::uint64_t k) {
  return reference_mix(reference_mix(seed) + (k + 1) * kGamma);
}

inline bool reference_hit(std::uint64_t number) {
  const std::uint64_t x = number >> 33, y = (number & 0xFFFF'FFFF) >> 1;
  return x * x + y * y < std::uint64_t{1} << 62;
}

/// Exact: whole numbers.
inline std::uint64_t reference_hits(std::uint64_t points, std::uint64_t seed) {
  std::uint64_t hits = 0;
  for (std::uint64_t k = 0; k < points; ++k)
    hits += reference_hit(reference_number(seed, k)) ? 1 : 0;
  return hits;
}

/// How many atomic additions the step claims to make.
inline std::uint64_t claimed_atomics(step version, const result& of) {
  switch (version) {
    case step::per_hit:
      return of.hits;
    case step::per_warp:
      return std::uint64_t{of.launched.blocks} * (of.launched.threads / 32);
    case step::per_block:
      return of.launched.blocks;
  }
  return 0;
}

inline double estimate(std::uint64_t hits, std::uint64_t points) {
  return 4.0 * static_cast<double>(hits) / static_cast<double>(points);
}

/// The standard deviation of the estimate. A point hits with probability p = pi / 4. The variance
/// of one hit or miss is p (1 - p), that of the mean of n of them is the n-th part, and the
/// estimate is 4 times the mean: 4 * sqrt(p (1 - p) / n), 1.642 / sqrt(n). In 68 of 100 cases the
/// estimate is less than this from pi; farther than five times this in one case of 1.7 million.
inline double sigma(std::uint64_t points) {
  constexpr double kP = std::numbers::pi / 4;
  return 4 * std::sqrt(kP * (1 - kP) / static_cast<double>(points));
}

}  // namespace lab::monte_carlo_pi
