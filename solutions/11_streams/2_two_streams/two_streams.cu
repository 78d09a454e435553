// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 11.2 two_streams: while one stream computes, the other one copies.
// Edit:  this nearly empty file: TODO(1) to TODO(4). two_streams.hpp has the steps.
// Run:   scripts/lab run 11.2 -- --step depth_first     (then --step breadth_first)
// Test:  scripts/lab test 11.2
// Hints: scripts/lab hint 11.2                          Chapter: docs/11_streams.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::two_streams {
namespace {

// given.hpp has the parts of 11.1: stream and event; copy_up(), launch_average() and copy_down(),
// each of which puts one operation into a stream and does not wait for it; and one_stream().

// TODO(1): a function that makes one stream wait for all work now in another one, with an event.
//          The host waits for nothing. Which comes first, recording or waiting? A stream does not
//          wait for an event that has not been recorded.
// BEGIN SOLUTION
// --- two streams that do not wait for each other -------------------------------------------------

/// From here on, `later` waits for all work that is now in `earlier`. The host waits for nothing.
/// `mark` is used by this call only, and lives until the work is done.
void let_wait(cudaStream_t later, cudaStream_t earlier, const event& mark) {
  CUDA_CHECK(cudaEventRecord(mark, earlier));
  CUDA_CHECK(cudaStreamWaitEvent(later, mark, 0));
}
// END SOLUTION

// TODO(2): step depth_first: the chunks go to the streams in turn, 0, 2, 4, … to stream 0 and 1, 3,
//          5, … to stream 1, each stream with its own memory. The last chunk may be short, and the
//          number of chunks may be odd.
// BEGIN SOLUTION
// --- depth_first: everything for one chunk, then everything for the next -------------------------
// Requires memory for one chunk per stream: nothing keeps a stream from using the other's.

void depth_first(cudaStream_t stream0, cudaStream_t stream1, host_arrays& host, buffers& memory0,
                 buffers& memory1, std::size_t chunk) {
  for (std::size_t first = 0; first < host.n; first += 2 * chunk) {
    enqueue(stream0, host, memory0, piece_at(first, chunk, host.n));
    enqueue(stream1, host, memory1, piece_at(first + chunk, chunk, host.n));
  }
}
// END SOLUTION

// TODO(3): step breadth_first: two chunks at a time: both copies of a, both copies of b, both
//          kernels, both copies back. The hardware may have one queue for copies: in it, no copy
//          back must come before a copy that need not wait for anything.
// BEGIN SOLUTION
// --- breadth_first: the same work in the same streams, queued in a different order ---------------
// Requires the same. Each stream still gets its work in the same order.

void breadth_first(cudaStream_t stream0, cudaStream_t stream1, host_arrays& host, buffers& memory0,
                   buffers& memory1, std::size_t chunk) {
  for (std::size_t first = 0; first < host.n; first += 2 * chunk) {
    const piece piece0 = piece_at(first, chunk, host.n);
    const piece piece1 = piece_at(first + chunk, chunk, host.n);
    copy_up(stream0, host.a, memory0.a, piece0);
    copy_up(stream1, host.a, memory1.a, piece1);
    copy_up(stream0, host.b, memory0.b, piece0);
    copy_up(stream1, host.b, memory1.b, piece1);
    launch_average(stream0, memory0, piece0);
    launch_average(stream1, memory1, piece1);
    copy_down(stream0, memory0.c, host.c, piece0);
    copy_down(stream1, memory1.c, host.c, piece1);
  }
}
// END SOLUTION

}  // namespace

result process(step version, std::span<const int> a, std::span<const int> b, std::size_t chunk) {
  // TODO(4): host_part_of_process() of given.hpp checks, allocates, and starts the clock in stream
  //          0. Then it calls your lambda (work& all, std::size_t chunk), which queues the work of
  //          the two steps; afterwards it stops the clock in stream 0, and waits only for that
  //          stream. Invariant: no work in stream 1 begins before the clock starts, and none of it
  //          is unfinished when the clock stops.
  // BEGIN SOLUTION
  // STUB: if (version == step::depth_first) throw not_written("step depth_first", 1);  // 1, 2, 4
  // STUB: if (version == step::breadth_first) throw not_written("step breadth_first", 3);
  // STUB: return host_part_of_process(version, a, b, chunk, [](work&, std::size_t) {});
  return host_part_of_process(version, a, b, chunk, [&](work& all, std::size_t size) {
    let_wait(all.stream1, all.stream0, all.begun);  // nothing begins before the clock starts
    const auto run = version == step::depth_first ? depth_first : breadth_first;
    run(all.stream0, all.stream1, all.host, all.memory0, all.memory1, size);
    let_wait(all.stream0, all.stream1, all.done);
  });
  // END SOLUTION
}

}  // namespace lab::two_streams
