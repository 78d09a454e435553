// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 11.1 single_stream: data that comes and goes in chunks, while the host does something else.
// Edit:  this file, from TODO(1) to TODO(5). single_stream.hpp says what is asked for.
// Run:   scripts/lab run 11.1
// Test:  scripts/lab test 11.1
// Hints: scripts/lab hint 11.1                     Chapter: docs/11_streams.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::single_stream {
namespace {

constexpr unsigned kThreads = 256;
static_assert(kThreads == kGroup,
              "a block is a group: its first element is where the block begins");

// --- pinned memory: host memory that stays where it is -------------------------------------------
// The operating system may move or swap out ordinary, pageable memory at any time. The device can
// copy on its own only from and to memory that cannot move.

struct pinned_free {
  void operator()(int* memory) const noexcept {
    // TODO(1): give the pinned memory back. It did not come from malloc or cudaMalloc.
    //          CUDA_CHECK_NOTHROW is for destructors and the like.
  }
};
using pinned_ints = std::unique_ptr<int[], pinned_free>;

pinned_ints allocate_pinned(std::size_t n) {
  int* memory = nullptr;
  // TODO(1): allocate n ints of pinned memory, without any special flags.
  throw not_written("pinned memory", 1);
  return pinned_ints(memory);
}

// --- a stream: a queue of work for the device ----------------------------------------------------

class stream {
 public:
  stream() {
    // TODO(2): create stream_ with the flag cudaStreamNonBlocking: without it, work that was put
    //          into the default stream by mistake would be waited for, and nobody would notice.
    throw not_written("creating a stream", 2);
  }
  ~stream() {
    // TODO(2): wait for all that is in stream_, so that no memory is freed below a copy that is
    //          under way, then destroy the stream. (CUDA_CHECK_NOTHROW)
  }
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;

  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// --- the work for one chunk ----------------------------------------------------------------------

/// The mean of a[i] and the next two around its group. The group begins at `first`, has `size`
/// elements, and i is number k in it.
__device__ long long mean_of_neighbours(const int* a, std::size_t first, unsigned size,
                                        unsigned k) {
  // TODO(3): three elements of the group, none of them outside. The sum of three ints may be more
  //          than an int can hold.
  return 0;
}

__global__ void average(const int* a, const int* b, int* c, std::size_t count) {
  // TODO(3): one thread for each of the `count` elements of this chunk. A group begins at each
  //          multiple of kGroup; only the last one may have fewer elements. Which?
}

/// Puts the work for the elements first, …, first + count - 1 into the stream, and does not wait
/// for it. The device's arrays have room for one chunk: its element 0 is the host's `first`.
void enqueue_chunk(cudaStream_t stream, const host_arrays& host, const device_arrays& device,
                   std::size_t first, std::size_t count) {
  const std::size_t bytes = count * sizeof(int);
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  // TODO(4): two copies to the device, the kernel, a copy back: four pieces of work, all of them in
  //          `stream`, which runs them in this order. For a launch it is the fourth argument
  //          between <<< and >>>.
  throw not_written("the work for a chunk", 3);  // 3 and 4 are this piece
}

/// Puts all n elements into the stream, chunk by chunk.
void enqueue_all(cudaStream_t stream, const host_arrays& host, const device_arrays& device,
                 std::size_t n, std::size_t chunk) {
  // TODO(5): one enqueue_chunk() after the other. The last chunk may be shorter. Why may all of
  //          them use the same memory of the device, although nobody waits in between?
  throw not_written("the loop over the chunks", 5);
}

// --- given ---------------------------------------------------------------------------------------

/// A copy of pageable memory is not asynchronous: cudaMemcpyAsync then waits, and says nothing.
void require_pinned(const pinned_ints& memory) {
  cudaPointerAttributes attributes{};
  CUDA_CHECK(cudaPointerGetAttributes(&attributes, memory.get()));
  if (attributes.type != cudaMemoryTypeHost)
    throw std::logic_error(
        "single_stream: allocate_pinned() gave memory that is not pinned; copies of it would not "
        "be asynchronous");
}

}  // namespace

result process(std::span<const int> a, std::span<const int> b, std::size_t chunk) {
  const std::size_t n = a.size();
  refuse_if(n != b.size(), "single_stream: a has ", n, " elements and b has ", b.size(),
            "; they must be equally long");
  refuse_if(chunk == 0 || chunk % kGroup != 0, "single_stream: a chunk of ", chunk,
            " elements is not a positive multiple of ", kGroup);
  if (n == 0) return {};
  chunk = std::min(chunk, (n + kGroup - 1) / kGroup * kGroup);  // no more memory than there is use

  const pinned_ints host_a = allocate_pinned(n);
  const pinned_ints host_b = allocate_pinned(n);
  const pinned_ints host_c = allocate_pinned(n);
  for (const pinned_ints* memory : {&host_a, &host_b, &host_c}) require_pinned(*memory);
  std::copy(a.begin(), a.end(), host_a.get());
  std::copy(b.begin(), b.end(), host_b.get());
  std::fill_n(host_c.get(), n, -1);  // not an older result, which may be right by chance

  device_buffer<int> device_a(chunk);
  device_buffer<int> device_b(chunk);
  device_buffer<int> device_c(chunk);

  const stream queue;  // made last, so destroyed first: before the memory that its work uses
  event_timer timer;
  timer.start(queue.get());
  enqueue_all(queue.get(), {host_a.get(), host_b.get(), host_c.get()},
              {device_a.data(), device_b.data(), device_c.data()}, n, chunk);
  timer.stop();

  // TODO(5): everything is in the queue, and perhaps nothing of it is done. Wait for the stream
  //          before anybody looks at host_c.

  result r;
  r.c.assign(host_c.get(), host_c.get() + n);
  r.total_ms = timer.milliseconds();
  return r;
}

}  // namespace lab::single_stream
