// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 19.4 many_gpu_sort: what the results are compared with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "lab/closeness.hpp"
#include "many_gpu_sort.hpp"

namespace lab::many_gpu_sort {

/// The positions of the sorted keys: a stable sort has one answer only.
inline std::vector<std::uint32_t> reference(std::span<const std::uint32_t> keys) {
  std::vector<std::uint32_t> positions(keys.size());
  std::iota(positions.begin(), positions.end(), 0U);
  std::ranges::stable_sort(positions, {}, [&](std::uint32_t at) { return keys[at]; });
  return positions;
}

/// Whether the result is the stable sort of the keys, on as many devices, none of which has too
/// many.
inline comparison check_result(const result& sorted, int devices,
                               std::span<const std::uint32_t> keys) {
  const auto wanted = reference(keys);
  std::vector<std::uint32_t> wanted_keys;
  for (const std::uint32_t at : wanted) wanted_keys.push_back(keys[at]);
  if (const comparison same = compare_exact(sorted.keys, wanted_keys); !same.ok)
    return {false, "keys: " + same.message};
  if (const comparison same = compare_exact(sorted.positions, wanted); !same.ok)
    return {false, "positions: " + same.message};
  if (sorted.counts.size() != static_cast<std::size_t>(devices))
    return {false, std::to_string(sorted.counts.size()) + " counts of " + std::to_string(devices) +
                       " devices"};
  const std::size_t most = most_per_device(keys.size(), devices);
  std::size_t all = 0;
  for (std::size_t k = 0; k < sorted.counts.size(); ++k) {
    all += sorted.counts[k];
    if (sorted.counts[k] > most)
      return {false, "device " + std::to_string(k) + " has " + std::to_string(sorted.counts[k]) +
                         " keys, and " + std::to_string(most) + " are allowed"};
  }
  if (all != keys.size())
    return {false, "the devices have " + std::to_string(all) + " keys in all"};
  return {true,
          "all " + std::to_string(keys.size()) + " keys are in order, and no device has too many"};
}

/// How many keys come before each splitter.
inline std::vector<std::size_t> offsets_of(std::span<const splitter> splitters,
                                           std::span<const std::uint32_t> keys) {
  std::vector<std::size_t> offsets;
  for (const splitter& s : splitters) {
    std::size_t before = 0;
    for (std::size_t at = 0; at < keys.size(); ++at)
      before += keys[at] < s.key || (keys[at] == s.key && at < s.position);
    offsets.push_back(before);
  }
  return offsets;
}

}  // namespace lab::many_gpu_sort
