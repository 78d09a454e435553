// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Overlaps follow from lengths, by inclusion and exclusion; memory is freed in "fetch".

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::nvtx_timeline {
namespace {

// --- ranges and names ----------------------------------------------------------------------------

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
  result all = fetch(*w);
  w.reset();
  return all;
}

// --- analysis of the timeline --------------------------------------------------------------------

namespace {

/// Two changes for each non-empty interval, in the order of their times.
std::vector<change> changes_of(std::span<const interval> intervals) {
  std::vector<change> changes;
  for (const auto& [kind, begin, end] : intervals) {
    if (begin == end) continue;
    const int up = kind == activity::copy_to_device, down = kind == activity::copy_to_host,
              kernel = kind == activity::kernel;
    changes.push_back({begin, up, down, kernel});
    changes.push_back({end, -up, -down, -kernel});
  }
  std::sort(changes.begin(), changes.end(),
            [](const change& x, const change& y) { return x.time < y.time; });
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
  change running{first};
  std::int64_t up = 0, down = 0, alone = 0, quiet = 0;
  for (const change& next : changes) {
    const std::int64_t length = next.time - running.time;
    const bool copies = running.to_device + running.to_host > 0, kernels = running.kernels > 0;
    u.copying += copies * length;
    u.computing += kernels * length;
    up += (running.to_device > 0) * length;
    down += (running.to_host > 0) * length;
    alone += (copies || kernels) * length;
    quiet = copies || kernels ? 0 : quiet + length;
    u.longest_idle = std::max(u.longest_idle, quiet);
    running = {next.time, running.to_device + next.to_device, running.to_host + next.to_host,
               running.kernels + next.kernels};
  }
  u.idle = u.span - alone;
  u.overlap = u.copying + u.computing - alone;
  u.both_ways = up + down - u.copying;
  return u;
}

}  // namespace lab::nvtx_timeline
