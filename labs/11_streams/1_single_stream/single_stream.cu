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
  }
};
using pinned_ints = std::unique_ptr<int[], pinned_free>;

pinned_ints allocate_pinned(std::size_t n) {
  // TODO(1): allocate n ints of pinned memory, without any special flags.
  throw not_written("pinned memory", 1);
}

// --- a stream: a queue of work for the device ----------------------------------------------------

class stream {
 public:
  stream() {
    // TODO(2): create stream_ with the flag cudaStreamNonBlocking: without it, the stream would
    //          silently wait for work that you put into the default stream by mistake.
    throw not_written("creating a stream", 2);
  }
  ~stream() {
    // TODO(2): wait for all work in stream_, so that no memory is freed while a copy still uses
    //          it, then destroy the stream. (CUDA_CHECK_NOTHROW)
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
  return 0;
}

__global__ void average(const int* a, const int* b, int* c, std::size_t count) {
  // TODO(3): one thread for each of the `count` elements of this chunk. A group begins at each
  //          multiple of kGroup; only the last one may have fewer elements. Which?
}

/// Puts the work for the elements first, …, first + count - 1 into the stream, and does not wait
/// for it. The device's arrays hold one chunk: their element 0 is the host's element `first`.
void enqueue_chunk(cudaStream_t stream, const host_arrays& host, const device_arrays& device,
                   std::size_t first, std::size_t count) {
  // TODO(4): two copies to the device, the kernel, a copy back: four operations, all in `stream`,
  //          which executes them in this order. For a launch, the stream is the fourth argument
  //          between <<< and >>>. Copies count bytes; the last block may have less to do.
  throw not_written("the work for a chunk", 3);  // 3 and 4 are this piece
}

void enqueue_all(cudaStream_t stream, const host_arrays& host, const device_arrays& device,
                 std::size_t n, std::size_t chunk) {
  // TODO(5): all n elements, one enqueue_chunk() after the other. The last chunk may be shorter.
  //          Why may all use the same device memory, although the host does not wait?
  throw not_written("the loop over the chunks", 5);
}

void finish(cudaStream_t stream) {
  // TODO(5): everything is in the queue, and perhaps none of it is done. Wait for the stream
  //          before the host reads the results.
}

}  // namespace

result process(std::span<const int> a, std::span<const int> b, std::size_t chunk) {
  return host_part_of_process<stream>(allocate_pinned, enqueue_all, finish, a, b, chunk);
}

}  // namespace lab::single_stream
