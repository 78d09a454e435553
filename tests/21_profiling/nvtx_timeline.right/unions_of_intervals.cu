// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// measure: the lengths of unions, and differences of these, instead of one sweep.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::nvtx_timeline {
namespace {

/// A range of the host's timeline, from here to the end of the scope.
class range {
 public:
  explicit range(const std::string& name) { nvtxRangePushA(name.c_str()); }
  ~range() { nvtxRangePop(); }
  range(const range&) = delete;
  range& operator=(const range&) = delete;
};

void name_streams(step version, const workplace& w) {
  nvtxNameCudaStreamA(w.stream0, "stream 0");
  if (version == step::two_streams) nvtxNameCudaStreamA(w.stream1, "stream 1");
}

}  // namespace

result process(step version, std::span<const int> a, std::span<const int> b, std::size_t chunk) {
  const range all("process");
  std::unique_ptr<workplace> w;
  {
    const range r("prepare");
    w = prepare(version, a, b, chunk);
    if (w) name_streams(version, *w);
  }
  if (!w) return {};
  {
    const range r("queue");
    begin_queue(version, *w);
    std::size_t turn = 0;
    for (std::size_t first = 0; first < w->host.n; first += w->turn) {
      const range one("chunks " + std::to_string(turn++));
      queue_turn(version, *w, first);
    }
    end_queue(version, *w);
  }
  {
    const range r("wait");
    wait(*w);
  }
  const range r("fetch");
  return fetch(*w);
}

namespace {

/// Two changes for each non-empty interval, in the order of their times.
std::vector<change> changes_of(std::span<const interval> intervals) {
  std::vector<change> changes;
  for (const interval& each : intervals) {
    if (each.begin_ns == each.end_ns) continue;
    change c{each.begin_ns};
    (each.kind == activity::kernel           ? c.kernels
     : each.kind == activity::copy_to_device ? c.to_device
                                             : c.to_host) = 1;
    changes.push_back(c);
    changes.push_back({each.end_ns, -c.to_device, -c.to_host, -c.kernels});
  }
  std::sort(changes.begin(), changes.end(), [](const change& x, const change& y) {
    return std::pair(x.time, -(x.to_device + x.to_host + x.kernels)) <
           std::pair(y.time, -(y.to_device + y.to_host + y.kernels));
  });
  return changes;
}

}  // namespace

utilization measure(std::span<const interval> intervals) {
  require_intervals(intervals);
  if (intervals.empty()) return {};
  std::int64_t first = intervals[0].begin_ns, last = intervals[0].end_ns;
  for (const interval& each : intervals) {
    first = std::min(first, each.begin_ns);
    last = std::max(last, each.end_ns);
  }
  utilization u;
  u.span = last - first;
  std::vector<change> changes = changes_of(intervals);
  changes.push_back({last});  // so that the time after the last change counts, too
  // For each kind of time, the length of the union of its intervals. An overlap is the sum of two
  // such lengths minus the length of the union of both.
  const auto length = [&](auto counts) {
    std::int64_t sum = 0, begin = 0;
    int running = 0;
    for (const change& each : changes) {
      const int more = counts(each);
      if (running == 0 && more > 0) begin = each.time;
      running += more;
      if (running == 0 && more < 0) sum += each.time - begin;
    }
    return sum;
  };
  const auto to_device = [](const change& c) { return c.to_device; };
  const auto to_host = [](const change& c) { return c.to_host; };
  const auto copies = [](const change& c) { return c.to_device + c.to_host; };
  const auto kernels = [](const change& c) { return c.kernels; };
  const auto any = [](const change& c) { return c.to_device + c.to_host + c.kernels; };
  u.copying = length(copies);
  u.computing = length(kernels);
  u.overlap = u.copying + u.computing - length(any);
  u.both_ways = length(to_device) + length(to_host) - u.copying;
  u.idle = u.span - length(any);
  std::int64_t end = first;  // of the last interval so far
  int running = 0;
  for (const change& each : changes) {
    if (running == 0) u.longest_idle = std::max(u.longest_idle, each.time - end);
    running += any(each);
    end = each.time;
  }
  return u;
}

}  // namespace lab::nvtx_timeline
