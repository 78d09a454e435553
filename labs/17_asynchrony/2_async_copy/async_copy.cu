// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 17.2 async_copy: C = A · B, where the next tiles are copied while these are multiplied.
// Edit:  this file, from TODO(1) to TODO(5); TODO(6) is a bonus. Contract: async_copy.hpp
// Run:   scripts/lab run 17.2 -- --step waiting     (then async_copy, two_stages and stages)
// Test:  scripts/lab test 17.2
// Hints: scripts/lab hint 17.2                  Chapter: docs/17_asynchrony.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::async_copy {
namespace {

template <bool kAligned>
__global__ void __launch_bounds__(kThreads) waiting(factors in, float* c) {
  __shared__ tiles now;
  float sum[kRows] = {};
  // TODO(1): take k in slices of kTile. For each, load() this thread's piece of both tiles, and
  //          add_products() when they are complete (all in given.hpp). Invariants: no thread reads
  //          an incomplete tile, or overwrites one that another thread still reads.
  store(sum, c, in.size);
}

using pipeline = cuda::pipeline<cuda::thread_scope_thread>;  // a thread waits for its own copies

/// Starts to copy a piece.
template <bool kAligned>
__device__ void start_copy(pipeline& pipe, piece p) {
  // TODO(2): cuda::memcpy_async the floats that exist: 16 bytes at once if kAligned, else one by
  //          one. Promise only the actual alignment (cuda::aligned_size_t). Store 0 for the rest.
}

/// Starts to copy this thread's pieces of a slice, as a separate batch.
template <bool kAligned>
__device__ void start_tiles(pipeline& pipe, const factors& in, std::size_t first, tiles& to) {
  // TODO(3): producer_acquire(), the copies of both pieces, producer_commit().
}

template <bool kAligned>
__global__ void __launch_bounds__(kThreads) async_copy(factors in, float* c) {
  // TODO(4): like `waiting`, with start_tiles() and a pipeline made by cuda::make_pipeline().
  //          consumer_wait() waits for this thread's oldest batch, and consumer_release() says that
  //          the thread has used it. Invariants: those of TODO(1).
}

template <bool kAligned>
__global__ void __launch_bounds__(kThreads) two_stages(factors in, float* c) {
  // TODO(5): start the first slice before the loop. In the loop the next slice, if there is one, is
  //          copied to one stage while the other stage is multiplied.
  //          Invariants: those of TODO(1), with one barrier per slice. Where does it guarantee
  //          both: complete before read, and read before overwritten?
}

template <bool kAligned>
__global__ void __launch_bounds__(kThreads) many_stages(factors in, float* c, unsigned stages) {
  extern __shared__ tiles stage[];  // `stages` of them
  // TODO(6, bonus): start `stages` - 1 slices before the loop, or as many as k has. The stages form
  //          a ring: the one that has just become free is the next one to fill.
}

}  // namespace

result multiply(step version, std::span<const float> a, std::span<const float> b, shape size,
                int stages) {
  return multiply_by(a, b, size, stages, [&](auto aligned, const factors& in, float* c) {
    constexpr bool kAligned = decltype(aligned)::value;
    const dim3 grid = grid_for(size);
    // When a step is written, launch it: waiting<kAligned><<<grid, kBlock>>>(in, c), and so on.
    // many_stages also gets the number of stages, and dynamic shared memory for that many `tiles`.
    if (version == step::waiting) throw not_written("step waiting", 1);
    if (version == step::async_copy) throw not_written("step async_copy", 2);  // 2 to 4
    if (version == step::two_stages) throw not_written("step two_stages", 5);
    if (version == step::stages) throw not_written("step stages", 6);
  });
}

}  // namespace lab::async_copy
