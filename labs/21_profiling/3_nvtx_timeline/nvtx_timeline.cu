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
  }
  ~range() {
    // TODO(1): end it (nvtxRangePop). Invariant: as many ranges end as began, the innermost one
    //          first, even when an exception leaves the scope.
  }
  range(const range&) = delete;
  range& operator=(const range&) = delete;
};

void name_streams(step version, const workplace& w) {
  // TODO(2): "stream 0", and for two_streams also "stream 1" (nvtxNameCudaStreamA).
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
  throw not_written("process", 1);  // 1 to 3
}

// --- analysis of the timeline --------------------------------------------------------------------

namespace {

/// Two changes for each non-empty interval, in the order of their times.
std::vector<change> changes_of(std::span<const interval> intervals) {
  std::vector<change> changes;
  // TODO(4): one more of its kind at the beginning, one fewer at the end. Then sort them by time.
  throw not_written("the changes", 4);
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
  throw not_written("the sweep", 5);
  return u;
}

}  // namespace lab::nvtx_timeline
