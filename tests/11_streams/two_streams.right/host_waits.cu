// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The host waits for the second stream before the clock stops, a loop takes the streams from an
// array, and breadth_first iterates over a pair of chunks once for each kind of work.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::two_streams {
namespace {

struct side {
  cudaStream_t queue;
  buffers& memory;
};

void depth_first(const side (&sides)[2], host_arrays& host, std::size_t chunk) {
  std::size_t number = 0;
  for (std::size_t left = host.n; left > 0; ++number) {
    const piece next{host.n - left, std::min(left, chunk)};
    const side& to = sides[number % 2];
    enqueue(to.queue, host, to.memory, next);
    left -= next.count;
  }
}

void breadth_first(const side (&sides)[2], host_arrays& host, std::size_t chunk) {
  for (std::size_t first = 0; first < host.n; first += 2 * chunk) {
    const auto for_both = [&](const auto& work) {
      for (std::size_t s = 0; s < 2; ++s)
        work(sides[s].queue, sides[s].memory, piece_at(first + s * chunk, chunk, host.n));
    };
    for_both([&](cudaStream_t q, buffers& m, piece p) { copy_up(q, host.a, m.a, p); });
    for_both([&](cudaStream_t q, buffers& m, piece p) { copy_up(q, host.b, m.b, p); });
    for_both([&](cudaStream_t q, buffers& m, piece p) { launch_average(q, m, p); });
    for_both([&](cudaStream_t q, buffers& m, piece p) { copy_down(q, m.c, host.c, p); });
  }
}

}  // namespace

result process(step version, std::span<const int> a, std::span<const int> b, std::size_t chunk) {
  return host_part_of_process(version, a, b, chunk, [version](work& all, std::size_t size) {
    CUDA_CHECK(cudaEventRecord(all.begun, all.stream0));
    CUDA_CHECK(cudaStreamWaitEvent(all.stream1, all.begun, cudaEventWaitDefault));
    const side sides[2] = {{all.stream0, all.memory0}, {all.stream1, all.memory1}};
    (version == step::breadth_first ? breadth_first : depth_first)(sides, all.host, size);
    CUDA_CHECK(cudaStreamSynchronize(all.stream1));
  });
}

}  // namespace lab::two_streams
