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
  const std::vector<std::uint64_t> expected = reference(bytes);
  comparison result = lab::compare_exact(count, expected);
  std::uint64_t sum = 0, off = 0, off_by_one = 0;
  for (const std::uint64_t one : count) sum += one;
  for (std::size_t i = 0; i < std::min(count.size(), expected.size()); ++i) {
    off += count[i] != expected[i];
    off_by_one += count[i] + 1 == expected[i];
  }
  if (result.ok)
    result.message += ", and they add up to " + std::to_string(sum);
  else if (off_by_one > 8 && off_by_one == off)  // new memory of the CPU device is -1
    result.message +=
        "; each of them is one too small: were they all set to 0? (cudaMemset counts bytes.)";
  else
    result.message += "; the counts add up to " + std::to_string(sum) + ", and there are " +
                      std::to_string(bytes.size()) + " bytes";
  return result;
}

}  // namespace lab::histogram
