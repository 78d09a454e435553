// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 10.4 histogram: what the results are compared with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "histogram.hpp"
#include "lab/closeness.hpp"

namespace lab::histogram {

/// How often each value occurs.
inline std::vector<std::uint64_t> reference(std::span<const std::uint8_t> bytes) {
  std::vector<std::uint64_t> count(kBins);
  std::ranges::for_each(bytes, [&](std::uint8_t value) { ++count[value]; });
  return count;
}

/// Compares all counts, and says how far the sum is from what it has to be.
inline comparison check(std::span<const std::uint64_t> count, std::span<const std::uint8_t> bytes) {
  comparison result = lab::compare_exact(count, reference(bytes));
  std::uint64_t sum = 0;
  for (const std::uint64_t one : count) sum += one;
  if (result.ok)
    result.message += ", and they add up to " + std::to_string(sum);
  else
    result.message += "; the counts add up to " + std::to_string(sum) + ", and there are " +
                      std::to_string(bytes.size()) + " bytes";
  return result;
}

}  // namespace lab::histogram
