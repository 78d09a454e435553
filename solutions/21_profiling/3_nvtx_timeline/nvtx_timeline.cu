// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 21.3 nvtx_timeline: a program that annotates its timeline, and the analysis of a timeline.
// Edit:  this file, from TODO(1) to TODO(5). nvtx_timeline.hpp has the contract.
// Run:   scripts/lab run 21.3 -- --step one_stream        (then two_streams)
// Test:  scripts/lab test 21.3
// Hints: scripts/lab hint 21.3                  Chapter: docs/21_profiling.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::nvtx_timeline {
namespace {

// --- ranges and names ----------------------------------------------------------------------------

/// A range of the host's timeline, from here to the end of the scope.
class range {
 public:
  explicit range(const std::string& name) {
    // TODO(1): begin a range of this name (nvtxRangePushA).
    // BEGIN SOLUTION
    nvtxRangePushA(name.c_str());
    // END SOLUTION
  }
  ~range() {
    // TODO(1): end it (nvtxRangePop). Invariant: as many ranges end as began, the innermost one
    //          first, even when an exception leaves the scope.
    // BEGIN SOLUTION
    nvtxRangePop();
    // END SOLUTION
  }
  range(const range&) = delete;
  range& operator=(const range&) = delete;
};

void name_streams(step version, const workplace& w) {
  // TODO(2): "stream 0", and for two_streams also "stream 1" (nvtxNameCudaStreamA).
  // BEGIN SOLUTION
  nvtxNameCudaStreamA(w.stream0, "stream 0");
  if (version == step::two_streams) nvtxNameCudaStreamA(w.stream1, "stream 1");
  // END SOLUTION
}

}  // namespace

result process(step version, std::span<const int> a, std::span<const int> b, std::size_t chunk) {
  // TODO(3): the ranges and names of the contract, around these calls of given.hpp:
  //              auto w = prepare(version, a, b, chunk);        null for no elements
  //              begin_queue(version, *w);
  //              queue_turn(version, *w, first);     for first = 0, w->turn, … below w->host.n
  //              end_queue(version, *w);
  //              wait(*w);
  //              return fetch(*w);
  //          Invariant: w is destroyed before "process" ends, so the time of freeing is part of it.
  // BEGIN SOLUTION
  // STUB: throw not_written("process", 1);  // 1 to 3
  const range whole("process");
  std::unique_ptr<workplace> w;
  {
    const range phase("prepare");
    w = prepare(version, a, b, chunk);
    if (w) name_streams(version, *w);
  }
  if (!w) return {};
  {
    const range phase("queue");
    begin_queue(version, *w);
    for (std::size_t first = 0; first < w->host.n; first += w->turn) {
      const range turn("chunks " + std::to_string(first / w->turn));
      queue_turn(version, *w, first);
    }
    end_queue(version, *w);
  }
  {
    const range phase("wait");
    wait(*w);
  }
  const range phase("fetch");
  return fetch(*w);
  // END SOLUTION
}

// --- analysis of the timeline --------------------------------------------------------------------

namespace {

/// Two changes for each non-empty interval, in the order of their times.
std::vector<change> changes_of(std::span<const interval> intervals) {
  std::vector<change> changes;
  // TODO(4): one more of its kind at the beginning, one fewer at the end. Then sort them by time.
  // BEGIN SOLUTION
  // STUB: throw not_written("the changes", 4);
  for (const auto& [kind, begin, end] : intervals) {
    if (begin == end) continue;
    const int up = kind == activity::copy_to_device, down = kind == activity::copy_to_host,
              kernel = kind == activity::kernel;
    changes.push_back({begin, up, down, kernel});
    changes.push_back({end, -up, -down, -kernel});
  }
  std::sort(changes.begin(), changes.end(),
            [](const change& x, const change& y) { return x.time < y.time; });
  // END SOLUTION
  return changes;
}

}  // namespace

utilization measure(std::span<const interval> intervals) {
  require_intervals(intervals);
  if (intervals.empty()) return {};
  const auto [first, last] = ends_of(intervals);
  utilization u;
  u.span = last - first;
  std::vector<change> changes = changes_of(intervals);
  changes.push_back({last});  // so that the time after the last change counts, too
  // TODO(5): go through the changes in order, and keep track of what is running. From one change to
  //          the next, nothing changes: add that time to everything that it belongs to.
  //          Invariant: the times between the changes add up to the span.
  // BEGIN SOLUTION
  // STUB: throw not_written("the sweep", 5);
  change running{first};
  for (const change& next : changes) {
    const std::int64_t length = next.time - running.time;
    const bool copies = running.to_device + running.to_host > 0, kernels = running.kernels > 0;
    if (copies) u.copying += length;
    if (kernels) u.computing += length;
    if (copies && kernels) u.overlap += length;
    if (running.to_device > 0 && running.to_host > 0) u.both_ways += length;
    if (!copies && !kernels) {
      u.idle += length;
      u.longest_idle = std::max(u.longest_idle, length);
    }
    running = {next.time, running.to_device + next.to_device, running.to_host + next.to_host,
               running.kernels + next.kernels};
  }
  // END SOLUTION
  return u;
}

}  // namespace lab::nvtx_timeline
