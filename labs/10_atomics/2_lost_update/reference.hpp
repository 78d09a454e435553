// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 10.2 lost_update: the turns of a schedule on the host, and all orders that there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lost_update.hpp"

namespace lab::lost_update {

/// What replay() is to return.
inline std::vector<moment> reference(std::span<const turn> schedule, unsigned threads,
                                     std::int32_t start) {
  std::vector<std::int32_t> own(threads);
  std::vector<moment> moments;
  std::int32_t x = start;
  for (const turn& now : schedule) {
    std::int32_t& value = own[now.thread];
    if (now.op == operation::read) value = x;
    // In unsigned, where it is no mistake to go beyond the largest number.
    if (now.op == operation::add)
      value = static_cast<std::int32_t>(static_cast<std::uint32_t>(value) + 1U);
    if (now.op == operation::write) x = value;
    moments.push_back({x, value});
  }
  return moments;
}

/// All schedules in which each of `threads` threads does x++ once. Each thread keeps to the order
/// of its own three steps; how the threads take turns is all that differs. There are
/// (3 * threads)! / 6^threads: 1, 20, 1680, 369600, …
inline std::vector<std::vector<turn>> all_interleavings(unsigned threads) {
  constexpr operation kSteps[] = {operation::read, operation::add, operation::write};
  std::vector<std::vector<turn>> all;
  std::vector<turn> now;
  std::vector<unsigned> done(threads);  // steps of each thread
  const auto extend = [&](const auto& self) -> void {
    if (now.size() == 3 * std::size_t{threads}) {
      all.push_back(now);
      return;
    }
    for (unsigned thread = 0; thread < threads; ++thread) {
      if (done[thread] == 3) continue;
      now.push_back({thread, kSteps[done[thread]++]});
      self(self);
      now.pop_back();
      --done[thread];
    }
  };
  extend(extend);
  return all;
}

}  // namespace lab::lost_update
