// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 11.2 two_streams: what two_streams.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/event.hpp"
#include "lab/pinned_buffer.hpp"
#include "lab/refuse_if.hpp"
#include "lab/stream.hpp"
#include "lab/timer.hpp"
#include "two_streams.hpp"

namespace lab::two_streams {

__device__ inline long long mean_of_neighbours(const int* a, std::size_t first, unsigned size,
                                               unsigned k) {
  const long long sum =
      static_cast<long long>(a[first + k]) + a[first + (k + 1) % size] + a[first + (k + 2) % size];
  return sum / 3;
}

__global__ void average(const int* a, const int* b, int* c, std::size_t count) {
  const std::size_t first = std::size_t{blockIdx.x} * kGroup;
  const unsigned k = threadIdx.x;
  if (first + k < count) {
    const unsigned size = static_cast<unsigned>(count - first < kGroup ? count - first : kGroup);
    const long long as = mean_of_neighbours(a, first, size, k);
    const long long bs = mean_of_neighbours(b, first, size, k);
    c[first + k] = static_cast<int>((as + bs) / 2);
  }
}

/// All n elements, in pinned memory.
struct host_arrays {
  explicit host_arrays(std::size_t size) : n(size), a(n), b(n), c(n) {}
  std::size_t n;
  pinned_buffer<int> a, b, c;
};

/// Room for one chunk on the device.
struct buffers {
  explicit buffers(std::size_t chunk) : a(chunk), b(chunk), c(chunk) {}
  device_buffer<int> a, b, c;
};

/// The elements first, …, first + count - 1 of the host's arrays; 0, …, count - 1 of the device's.
struct piece {
  std::size_t first, count;
};

/// What is left of n from `first` on, at most a chunk. Past the end: a piece of no elements.
inline piece piece_at(std::size_t first, std::size_t chunk, std::size_t n) {
  return {first, first < n ? std::min(chunk, n - first) : 0};
}

constexpr unsigned kThreads = 256;
static_assert(kThreads == kGroup,
              "a block is a group: its first element is where the block begins");

// Each of these puts one piece of work into a stream and does not wait for it. For a piece of no
// elements they do nothing.

inline void copy_up(cudaStream_t stream, const pinned_buffer<int>& from, device_buffer<int>& to,
                    piece p) {
  if (p.count == 0) return;
  CUDA_CHECK(cudaMemcpyAsync(to.data(), from.data() + p.first, p.count * sizeof(int),
                             cudaMemcpyHostToDevice, stream));
}

inline void launch_average(cudaStream_t stream, buffers& memory, piece p) {
  if (p.count == 0) return;
  const auto blocks = static_cast<unsigned>((p.count + kThreads - 1) / kThreads);
  average<<<blocks, kThreads, 0, stream>>>(memory.a.data(), memory.b.data(), memory.c.data(),
                                           p.count);
  CUDA_CHECK(cudaGetLastError());
}

inline void copy_down(cudaStream_t stream, const device_buffer<int>& from, pinned_buffer<int>& to,
                      piece p) {
  if (p.count == 0) return;
  CUDA_CHECK(cudaMemcpyAsync(to.data() + p.first, from.data(), p.count * sizeof(int),
                             cudaMemcpyDeviceToHost, stream));
}

// --- one_stream: given, as in 11.1 ---------------------------------------------------------------

/// All the work for one piece, in order, into one stream.
inline void enqueue(cudaStream_t stream, host_arrays& host, buffers& memory, piece p) {
  copy_up(stream, host.a, memory.a, p);
  copy_up(stream, host.b, memory.b, p);
  launch_average(stream, memory, p);
  copy_down(stream, memory.c, host.c, p);
}

inline void one_stream(cudaStream_t stream, host_arrays& host, buffers& memory, std::size_t chunk) {
  for (std::size_t first = 0; first < host.n; first += chunk)
    enqueue(stream, host, memory, piece_at(first, chunk, host.n));
}

/// What a call of process() works with. The streams are made last, so destroyed first: before what
/// their work uses.
struct work {
  work(std::size_t n, std::size_t chunk, std::size_t chunk1)
      : host(n), memory0(chunk), memory1(chunk1) {}
  host_arrays host;
  buffers memory0, memory1;
  event begun, done;
  stream stream0, stream1;
};

/// process(), where queue(all, chunk) queues the work of the steps with two streams.
template <class Queue>
result host_part_of_process(step version, std::span<const int> a, std::span<const int> b,
                            std::size_t chunk, const Queue& queue) {
  const std::size_t n = a.size();
  refuse_if(n != b.size(), "two_streams: a has ", n, " elements and b has ", b.size(),
            "; they must be equally long");
  refuse_if(chunk == 0 || chunk % kGroup != 0, "two_streams: a chunk of ", chunk,
            " elements is not a positive multiple of ", kGroup);
  if (n == 0) return {};
  chunk = std::min(chunk, (n + kGroup - 1) / kGroup * kGroup);  // no more memory than there is use

  work all(n, chunk, version == step::one_stream ? 0 : chunk);
  std::copy(a.begin(), a.end(), all.host.a.data());
  std::copy(b.begin(), b.end(), all.host.b.data());
  std::fill_n(all.host.c.data(), n, -1);  // not an older result, which may be right by chance

  event_timer timer;
  timer.start(all.stream0);
  if (version == step::one_stream)
    one_stream(all.stream0, all.host, all.memory0, chunk);
  else
    queue(all, chunk);
  timer.stop();
  CUDA_CHECK(cudaStreamSynchronize(all.stream0));

  result r;
  r.c.assign(all.host.c.data(), all.host.c.data() + n);
  r.total_ms = timer.milliseconds();
  return r;
}

}  // namespace lab::two_streams
