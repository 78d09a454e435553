// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 11.1 single_stream: data is copied and processed in chunks, while the host does other work.
// Edit:  this file, from TODO(1) to TODO(5). single_stream.hpp has the contract.
// Run:   scripts/lab run 11.1
// Test:  scripts/lab test 11.1
// Hints: scripts/lab hint 11.1                     Chapter: docs/11_streams.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::single_stream {
namespace {

constexpr unsigned kThreads = kGroup;  // a block is a group, which begins where the block begins

// --- pinned memory: host memory that stays where it is -------------------------------------------

struct pinned_free {
  void operator()(int* memory) const noexcept {
    // TODO(1): free the pinned memory. It did not come from malloc or cudaMalloc.
    //          CUDA_CHECK_NOTHROW is for destructors and similar functions.
    // BEGIN SOLUTION
    CUDA_CHECK_NOTHROW(cudaFreeHost(memory));
    // END SOLUTION
  }
};
using pinned_ints = std::unique_ptr<int[], pinned_free>;

pinned_ints allocate_pinned(std::size_t n) {
  // TODO(1): allocate n ints of pinned memory, without any special flags.
  // BEGIN SOLUTION
  // STUB: throw not_written("pinned memory", 1);
  int* memory = nullptr;
  CUDA_CHECK(cudaHostAlloc(&memory, n * sizeof(int), cudaHostAllocDefault));
  return pinned_ints(memory);
  // END SOLUTION
}

// --- a stream: a queue of work for the device ----------------------------------------------------

class stream {
 public:
  stream() {
    // TODO(2): create stream_ with the flag cudaStreamNonBlocking: without it, the stream would
    //          silently wait for work that you put into the default stream by mistake.
    // BEGIN SOLUTION
    // STUB: throw not_written("creating a stream", 2);
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    // END SOLUTION
  }
  ~stream() {
    // TODO(2): wait for all work in stream_, so that no memory is freed while a copy still uses
    //          it, then destroy the stream. (CUDA_CHECK_NOTHROW)
    // BEGIN SOLUTION
    CUDA_CHECK_NOTHROW(cudaStreamSynchronize(stream_));
    CUDA_CHECK_NOTHROW(cudaStreamDestroy(stream_));
    // END SOLUTION
  }
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;

  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// --- the work for one chunk ----------------------------------------------------------------------

/// The mean of element k of a group of `size` elements, and the two after it, around the ring.
__device__ long long mean_of_neighbours(const int* group, unsigned size, unsigned k) {
  // TODO(3): three elements of the group, none of them outside it. The sum of three ints may be
  //          more than an int can hold.
  // BEGIN SOLUTION
  // STUB: return 0;
  const long long sum =
      static_cast<long long>(group[k]) + group[(k + 1) % size] + group[(k + 2) % size];
  return sum / 3;
  // END SOLUTION
}

__global__ void average(const int* a, const int* b, int* c, std::size_t count) {
  // TODO(3): one thread for each of the `count` elements of this chunk. A group begins at each
  //          multiple of kGroup; only the last one may have fewer elements. Which?
  // BEGIN SOLUTION
  const std::size_t first = std::size_t{blockIdx.x} * kGroup;
  const unsigned k = threadIdx.x;
  if (first + k < count) {
    const unsigned size = static_cast<unsigned>(count - first < kGroup ? count - first : kGroup);
    const long long as = mean_of_neighbours(a + first, size, k);
    const long long bs = mean_of_neighbours(b + first, size, k);
    c[first + k] = static_cast<int>((as + bs) / 2);
  }
  // END SOLUTION
}

/// Puts the work for the elements first, …, first + count - 1 into the stream, and does not wait
/// for it. The device's arrays hold one chunk: their element 0 is the host's element `first`.
void enqueue_chunk(cudaStream_t stream, const host_arrays& host, const device_arrays& device,
                   std::size_t first, std::size_t count) {
  // TODO(4): two copies to the device, the kernel, a copy back: four operations, all in `stream`,
  //          which executes them in this order. For a launch, the stream is the fourth argument
  //          between <<< and >>>. Copies count bytes; the last block may have less to do.
  // BEGIN SOLUTION
  // STUB: throw not_written("the work for a chunk", 3);  // 3 and 4 are this piece
  const std::size_t bytes = count * sizeof(int);
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  CUDA_CHECK(cudaMemcpyAsync(device.a, host.a + first, bytes, cudaMemcpyHostToDevice, stream));
  CUDA_CHECK(cudaMemcpyAsync(device.b, host.b + first, bytes, cudaMemcpyHostToDevice, stream));
  average<<<blocks, kThreads, 0, stream>>>(device.a, device.b, device.c, count);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaMemcpyAsync(host.c + first, device.c, bytes, cudaMemcpyDeviceToHost, stream));
  // END SOLUTION
}

void enqueue_all(cudaStream_t stream, const host_arrays& host, const device_arrays& device,
                 std::size_t n, std::size_t chunk) {
  // TODO(5): all n elements, one enqueue_chunk() after the other. The last chunk may be shorter.
  //          Why may all use the same device memory, although the host does not wait?
  // BEGIN SOLUTION
  // STUB: throw not_written("the loop over the chunks", 5);
  for (std::size_t first = 0; first < n; first += chunk)
    enqueue_chunk(stream, host, device, first, std::min(chunk, n - first));
  // END SOLUTION
}

void finish(cudaStream_t stream) {
  // TODO(5): everything is in the queue, and perhaps none of it is done. Wait for the stream
  //          before the host reads the results.
  // BEGIN SOLUTION
  CUDA_CHECK(cudaStreamSynchronize(stream));
  // END SOLUTION
}

}  // namespace

result process(std::span<const int> a, std::span<const int> b, std::size_t chunk) {
  return host_part_of_process<stream>(allocate_pinned, enqueue_all, finish, a, b, chunk);
}

}  // namespace lab::single_stream
