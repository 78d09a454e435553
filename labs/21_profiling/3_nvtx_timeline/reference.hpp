// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 21.3 nvtx_timeline: the same on the host, nanosecond by nanosecond.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../../11_streams/1_single_stream/reference.hpp"
#include "nvtx_timeline.hpp"

namespace lab::nvtx_timeline {

using single_stream::reference;

/// For intervals that end before some thousand nanoseconds.
inline utilization reference_measure(std::span<const interval> intervals) {
  if (intervals.empty()) return {};
  std::int64_t first = intervals[0].begin_ns, last = 0;
  for (const interval& each : intervals) {
    first = std::min(first, each.begin_ns);
    last = std::max(last, each.end_ns);
  }
  utilization u;
  u.span = last - first;
  std::int64_t idle_now = 0;
  for (std::int64_t now = first; now < last; ++now) {
    const auto runs = [&](activity kind) {
      return std::any_of(intervals.begin(), intervals.end(), [&](const interval& each) {
        return each.kind == kind && each.begin_ns <= now && now < each.end_ns;
      });
    };
    const bool up = runs(activity::copy_to_device), down = runs(activity::copy_to_host),
               kernel = runs(activity::kernel);
    u.copying += up || down;
    u.computing += kernel;
    u.overlap += (up || down) && kernel;
    u.both_ways += up && down;
    idle_now = up || down || kernel ? 0 : idle_now + 1;
    u.idle += idle_now > 0;
    u.longest_idle = std::max(u.longest_idle, idle_now);
  }
  return u;
}

}  // namespace lab::nvtx_timeline
