// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 01.4 choose_device: what the choice is compared with.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "choose_device.hpp"

namespace lab::choose_device {

/// multiprocessors * clock_khz. A product of two ints fits 64 bits, but not 32.
inline std::int64_t strength(const candidate& of) {
  return std::int64_t{of.multiprocessors} * of.clock_khz;
}

/// The same rule said in another way: put the whole list in order, and take the first that may be
/// taken.
inline std::optional<int> reference_best(std::span<const candidate> list,
                                         const requirement& needed) {
  std::vector<candidate> sorted(list.begin(), list.end());
  std::sort(sorted.begin(), sorted.end(), [](const candidate& a, const candidate& b) {
    return std::tuple(strength(b), b.global_bytes, a.device) <
           std::tuple(strength(a), a.global_bytes, b.device);
  });
  for (const candidate& each : sorted)
    if (std::pair(each.compute_major, each.compute_minor) >=
            std::pair(needed.compute_major, needed.compute_minor) &&
        each.global_bytes >= needed.global_bytes && each.compute_mode != cudaComputeModeProhibited)
      return each.device;
  return std::nullopt;
}

}  // namespace lab::choose_device
