// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 11.2 two_streams: while one stream calculates, the other one copies.
// Edit:  this file, from TODO(1) to TODO(4). two_streams.hpp says what each step must do.
// Run:   scripts/lab run 11.2 -- --step depth_first     (then --step breadth_first)
// Test:  scripts/lab test 11.2
// Hints: scripts/lab hint 11.2                          Chapter: docs/11_streams.md

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/pinned_buffer.hpp"
#include "lab/timer.hpp"
#include "two_streams.hpp"

namespace lab::two_streams {
namespace {

constexpr unsigned kThreads = 256;
static_assert(kThreads == kGroup,
              "a block is a group: its first element is where the block begins");

// --- given: what 11.1 was about ------------------------------------------------------------------

class stream {
 public:
  stream() { CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~stream() {
    CUDA_CHECK_NOTHROW(cudaStreamSynchronize(stream_));
    CUDA_CHECK_NOTHROW(cudaStreamDestroy(stream_));
  }
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// A mark that is put into a stream, for another stream (or the host) to wait for.
class event {
 public:
  event() { CUDA_CHECK(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~event() { CUDA_CHECK_NOTHROW(cudaEventDestroy(event_)); }
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

__device__ long long mean_of_neighbours(const int* a, std::size_t first, unsigned size,
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

/// What is left of n from `first` on, at most a chunk. Behind the end: a piece of no elements.
piece piece_at(std::size_t first, std::size_t chunk, std::size_t n) {
  return {first, first < n ? std::min(chunk, n - first) : 0};
}

// Each of these puts one piece of work into a stream and does not wait for it. For a piece of no
// elements they do nothing.

void copy_up(cudaStream_t stream, const pinned_buffer<int>& from, device_buffer<int>& to, piece p) {
  if (p.count == 0) return;
  CUDA_CHECK(cudaMemcpyAsync(to.data(), from.data() + p.first, p.count * sizeof(int),
                             cudaMemcpyHostToDevice, stream));
}

void launch_average(cudaStream_t stream, buffers& memory, piece p) {
  if (p.count == 0) return;
  const auto blocks = static_cast<unsigned>((p.count + kThreads - 1) / kThreads);
  average<<<blocks, kThreads, 0, stream>>>(memory.a.data(), memory.b.data(), memory.c.data(),
                                           p.count);
  CUDA_CHECK(cudaGetLastError());
}

void copy_down(cudaStream_t stream, const device_buffer<int>& from, pinned_buffer<int>& to,
               piece p) {
  if (p.count == 0) return;
  CUDA_CHECK(cudaMemcpyAsync(to.data() + p.first, from.data(), p.count * sizeof(int),
                             cudaMemcpyDeviceToHost, stream));
}

// --- one_stream: given, as in 11.1 ---------------------------------------------------------------

/// All the work for one piece, in order, into one stream.
void enqueue(cudaStream_t stream, host_arrays& host, buffers& memory, piece p) {
  copy_up(stream, host.a, memory.a, p);
  copy_up(stream, host.b, memory.b, p);
  launch_average(stream, memory, p);
  copy_down(stream, memory.c, host.c, p);
}

void one_stream(cudaStream_t stream, host_arrays& host, buffers& memory, std::size_t chunk) {
  for (std::size_t first = 0; first < host.n; first += chunk)
    enqueue(stream, host, memory, piece_at(first, chunk, host.n));
}

// --- two streams that know nothing of each other -------------------------------------------------

/// From here on, `later` waits for all that is in `earlier` now. The host waits for nothing.
/// `mark` is this call's own, and lives until the work is done.
void let_wait(cudaStream_t later, cudaStream_t earlier, const event& mark) {
  // TODO(1): put the mark into one stream (cudaEventRecord), and have the other one wait for it
  //          (cudaStreamWaitEvent, flags 0). Which comes first? An event that has not been
  //          recorded is not waited for.
  // BEGIN SOLUTION
  // STUB: throw not_written("one stream that waits for another", 1);
  CUDA_CHECK(cudaEventRecord(mark.get(), earlier));
  CUDA_CHECK(cudaStreamWaitEvent(later, mark.get(), 0));
  // END SOLUTION
}

// --- depth_first: everything for one chunk, then everything for the next -------------------------
// Requires memory for one chunk for each stream: nothing keeps one stream out of the other's.

void depth_first(cudaStream_t stream0, cudaStream_t stream1, host_arrays& host, buffers& memory0,
                 buffers& memory1, std::size_t chunk) {
  // TODO(2): the pieces go to the streams in turn: 0, 2, 4, … to stream0, 1, 3, 5, … to stream1.
  //          The last piece may be short, and there may be an odd number of them.
  // BEGIN SOLUTION
  // STUB: throw not_written("step depth_first", 2);
  for (std::size_t first = 0; first < host.n; first += 2 * chunk) {
    enqueue(stream0, host, memory0, piece_at(first, chunk, host.n));
    enqueue(stream1, host, memory1, piece_at(first + chunk, chunk, host.n));
  }
  // END SOLUTION
}

// --- breadth_first: the same work in the same streams, queued in another order -------------------
// Requires the same. Each stream gets its work in the order that it got before.

void breadth_first(cudaStream_t stream0, cudaStream_t stream1, host_arrays& host, buffers& memory0,
                   buffers& memory1, std::size_t chunk) {
  // TODO(3): two pieces at a time: both copies of a, both copies of b, both kernels, both copies
  //          back. For one queue of copies in the hardware: a copy back must not stand before a
  //          copy that need not wait for anything.
  // BEGIN SOLUTION
  // STUB: throw not_written("step breadth_first", 3);
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
  // END SOLUTION
}

}  // namespace

// --- the frame around the steps ------------------------------------------------------------------

result process(step which, std::span<const int> a, std::span<const int> b, std::size_t chunk) {
  const std::size_t n = a.size();
  if (n != b.size())
    throw invalid_input("two_streams: a has " + std::to_string(n) + " elements and b has " +
                        std::to_string(b.size()) + "; they must be equally long");
  if (chunk == 0 || chunk % kGroup != 0)
    throw invalid_input("two_streams: a chunk of " + std::to_string(chunk) +
                        " elements is not a positive multiple of " + std::to_string(kGroup));
  if (n == 0) return {};
  chunk = std::min(chunk, (n + kGroup - 1) / kGroup * kGroup);  // no more memory than there is use

  host_arrays host(n);
  std::copy(a.begin(), a.end(), host.a.data());
  std::copy(b.begin(), b.end(), host.b.data());
  std::fill_n(host.c.data(), n, -1);  // not an older result, which may be right by chance
  buffers memory0(chunk);
  buffers memory1(which == step::one_stream ? 0 : chunk);

  const event begun, done;
  const stream stream0, stream1;  // made last, so destroyed first: before what their work uses
  event_timer timer;
  timer.start(stream0.get());
  if (which == step::one_stream) {
    one_stream(stream0.get(), host, memory0, chunk);
  } else {
    let_wait(stream1.get(), stream0.get(), begun);  // nothing begins before the clock
    if (which == step::depth_first)
      depth_first(stream0.get(), stream1.get(), host, memory0, memory1, chunk);
    else
      breadth_first(stream0.get(), stream1.get(), host, memory0, memory1, chunk);
    // TODO(4): below, the clock is stopped in stream0, and the host waits for stream0 alone. Both
    //          must come after the work of stream1, too. You have written what does it.
    // BEGIN SOLUTION
    // STUB: throw not_written("bringing the streams together", 4);
    let_wait(stream0.get(), stream1.get(), done);
    // END SOLUTION
  }
  timer.stop();
  CUDA_CHECK(cudaStreamSynchronize(stream0.get()));

  result r;
  r.c.assign(host.c.data(), host.c.data() + n);
  r.total_ms = timer.milliseconds();
  return r;
}

}  // namespace lab::two_streams
