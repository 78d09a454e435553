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

// TODO(2): step depth_first: the chunks go to the streams in turn, 0, 2, 4, … to stream 0 and 1, 3,
//          5, … to stream 1, each stream with its own memory. The last chunk may be short, and the
//          number of chunks may be odd.

// TODO(3): step breadth_first: two chunks at a time: both copies of a, both copies of b, both
//          kernels, both copies back. The hardware may have one queue for copies: in it, no copy
//          back must come before a copy that need not wait for anything.

}  // namespace

result process(step version, std::span<const int> a, std::span<const int> b, std::size_t chunk) {
  // TODO(4): host_part_of_process() of given.hpp checks, allocates, and starts the clock in stream
  //          0. Then it calls your lambda (work& all, std::size_t chunk), which queues the work of
  //          the two steps; afterwards it stops the clock in stream 0, and waits only for that
  //          stream. Invariant: no work in stream 1 begins before the clock starts, and none of it
  //          is unfinished when the clock stops.
  if (version == step::depth_first) throw not_written("step depth_first", 1);  // 1, 2, 4
  if (version == step::breadth_first) throw not_written("step breadth_first", 3);
  return host_part_of_process(version, a, b, chunk, [](work&, std::size_t) {});
}

}  // namespace lab::two_streams
