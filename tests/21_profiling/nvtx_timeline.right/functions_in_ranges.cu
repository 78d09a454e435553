// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// process: a function that calls another one inside a range.

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

template <class F>
auto in(const std::string& name, const F& f) {
  const range r(name);
  return f();
}

void name_streams(step version, const workplace& w) {
  nvtxNameCudaStreamA(w.stream0, "stream 0");
  if (version == step::two_streams) nvtxNameCudaStreamA(w.stream1, "stream 1");
}

}  // namespace

result process(step version, std::span<const int> a, std::span<const int> b, std::size_t chunk) {
  return in("process", [&]() -> result {
    const auto w = in("prepare", [&] {
      auto made = prepare(version, a, b, chunk);
      if (made) name_streams(version, *made);
      return made;
    });
    if (!w) return {};
    in("queue", [&] {
      begin_queue(version, *w);
      for (std::size_t first = 0; first < w->host.n; first += w->turn)
        in("chunks " + std::to_string(first / w->turn), [&] { queue_turn(version, *w, first); });
      end_queue(version, *w);
    });
    in("wait", [&] { wait(*w); });
    return in("fetch", [&] { return fetch(*w); });
  });
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
  std::sort(changes.begin(), changes.end(),
            [](const change& x, const change& y) { return x.time < y.time; });
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
  std::int64_t before = first, idle_now = 0;
  change now{};
  for (const change& each : changes) {
    const std::int64_t time = each.time - before;
    before = each.time;
    const bool copy = now.to_device + now.to_host > 0, kernel = now.kernels > 0;
    if (copy) u.copying += time;
    if (kernel) u.computing += time;
    if (copy && kernel) u.overlap += time;
    if (now.to_device > 0 && now.to_host > 0) u.both_ways += time;
    if (!copy && !kernel) {
      u.idle += time;
      idle_now += time;
    } else if (time > 0) {
      idle_now = 0;
    }
    u.longest_idle = std::max(u.longest_idle, idle_now);
    now.to_device += each.to_device;
    now.to_host += each.to_host;
    now.kernels += each.kernels;
  }
  return u;
}

}  // namespace lab::nvtx_timeline
