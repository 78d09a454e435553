// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 15.2 dot_with_lock: what the results are compared with, and how far they may be from it.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "dot_with_lock.hpp"
#include "lab/dot_reference.hpp"

namespace lab::dot_with_lock {

/// How far a float result of so many blocks may be from the reference.
///
/// A thread adds at most n / (blocks * kThreads) products, rounded up; a tree of 256 threads has 8
/// levels; and the total goes through at most `blocks` additions, in whichever order. The product's
/// own rounding makes 1 more. So the total is now a chain: with many blocks, it is the chain that
/// makes the bound.
inline double error_bound(std::span<const float> a, std::span<const float> b, unsigned blocks) {
  const double threads = static_cast<double>(blocks) * kThreads;
  const double of_a_thread = std::ceil(static_cast<double>(a.size()) / threads);
  return dot_error_bound(a, b, of_a_thread + 8 + static_cast<double>(blocks) + 1);
}

/// What step in_order gives, to the last bit, where no sum within a part is rounded.
inline float sum_in_order(std::span<const float> a, std::span<const float> b, unsigned blocks) {
  std::vector<double> parts(blocks);
  for (std::size_t i = 0; i < a.size(); ++i)
    parts[i / kThreads % blocks] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  float total = 0;
  for (const double part : parts) total += static_cast<float>(part);
  return total;
}

}  // namespace lab::dot_with_lock
