// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 21.3 nvtx_timeline: what nvtx_timeline.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../../11_streams/2_two_streams/given.hpp"
#include "nvtx_timeline.hpp"

namespace lab::nvtx_timeline {

using two_streams::buffers;
using two_streams::host_arrays;
using two_streams::piece;
using two_streams::piece_at;

/// What a call of process() works with. The streams are made last, so destroyed first: before what
/// their work uses.
struct workplace {
  workplace(step version, std::size_t n, std::size_t chunk_size)
      : chunk(chunk_size),
        turn(version == step::one_stream ? chunk : 2 * chunk),
        host(n),
        memory0(chunk),
        memory1(version == step::one_stream ? 0 : chunk) {}
  std::size_t chunk, turn;  // elements of a chunk, and of a turn
  host_arrays host;
  buffers memory0, memory1;
  event begun, done;
  event_timer timer;
  stream stream0, stream1;
};

/// Checks the input, allocates, and fills pinned memory. Null for no elements.
inline std::unique_ptr<workplace> prepare(step version, std::span<const int> a,
                                          std::span<const int> b, std::size_t chunk) {
  const std::size_t n = a.size();
  refuse_if(n != b.size(), "nvtx_timeline: a has ", n, " elements and b has ", b.size(),
            "; they must be equally long");
  refuse_if(chunk == 0 || chunk % two_streams::kGroup != 0, "nvtx_timeline: a chunk of ", chunk,
            " elements is not a positive multiple of ", two_streams::kGroup);
  if (n == 0) return nullptr;
  // No more memory than there is use for.
  chunk =
      std::min(chunk, (n + two_streams::kGroup - 1) / two_streams::kGroup * two_streams::kGroup);
  auto w = std::make_unique<workplace>(version, n, chunk);
  std::copy(a.begin(), a.end(), w->host.a.data());
  std::copy(b.begin(), b.end(), w->host.b.data());
  std::fill_n(w->host.c.data(), n, -1);  // not an older result, which may be right by chance
  return w;
}

/// Before the first turn: the clock starts, and stream 1 waits for that.
inline void begin_queue(step version, workplace& w) {
  w.timer.start(w.stream0);
  if (version == step::one_stream) return;
  CUDA_CHECK(cudaEventRecord(w.begun, w.stream0));
  CUDA_CHECK(cudaStreamWaitEvent(w.stream1, w.begun, 0));
}

/// One turn: the chunks that begin at element `first`. As one_stream and breadth_first of 11.2.
inline void queue_turn(step version, workplace& w, std::size_t first) {
  const piece piece0 = piece_at(first, w.chunk, w.host.n);
  if (version == step::one_stream) {
    two_streams::enqueue(w.stream0, w.host, w.memory0, piece0);
    return;
  }
  const piece piece1 = piece_at(first + w.chunk, w.chunk, w.host.n);
  two_streams::copy_up(w.stream0, w.host.a, w.memory0.a, piece0);
  two_streams::copy_up(w.stream1, w.host.a, w.memory1.a, piece1);
  two_streams::copy_up(w.stream0, w.host.b, w.memory0.b, piece0);
  two_streams::copy_up(w.stream1, w.host.b, w.memory1.b, piece1);
  two_streams::launch_average(w.stream0, w.memory0, piece0);
  two_streams::launch_average(w.stream1, w.memory1, piece1);
  two_streams::copy_down(w.stream0, w.memory0.c, w.host.c, piece0);
  two_streams::copy_down(w.stream1, w.memory1.c, w.host.c, piece1);
}

/// After the last turn: stream 0 waits for stream 1, and the clock stops.
inline void end_queue(step version, workplace& w) {
  if (version == step::two_streams) {
    CUDA_CHECK(cudaEventRecord(w.done, w.stream1));
    CUDA_CHECK(cudaStreamWaitEvent(w.stream0, w.done, 0));
  }
  w.timer.stop();
}

inline void wait(workplace& w) { CUDA_CHECK(cudaStreamSynchronize(w.stream0)); }

inline result fetch(workplace& w) {
  return {{w.host.c.data(), w.host.c.data() + w.host.n}, w.timer.milliseconds()};
}

/// At `time`, so many copies in each direction and so many kernels more (or fewer) run.
struct change {
  std::int64_t time = 0;
  int to_device = 0, to_host = 0, kernels = 0;
};

inline void require_intervals(std::span<const interval> intervals) {
  for (const interval& each : intervals)
    refuse_if(each.begin_ns < 0 || each.end_ns < each.begin_ns, "nvtx_timeline: from ",
              each.begin_ns, " to ", each.end_ns, " ns is no interval");
}

/// The first begin and the last end of intervals, of which there is at least one.
inline std::pair<std::int64_t, std::int64_t> ends_of(std::span<const interval> intervals) {
  std::pair ends(intervals[0].begin_ns, intervals[0].end_ns);
  for (const auto& [kind, begin, end] : intervals)
    ends = {std::min(ends.first, begin), std::max(ends.second, end)};
  return ends;
}

}  // namespace lab::nvtx_timeline
