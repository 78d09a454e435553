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
  // BEGIN SOLUTION
  for (std::size_t first = 0; first < in.size.k; first += kTile) {
    load<kAligned>(piece_of_a(in, first, now));
    load<kAligned>(piece_of_b(in, first, now));
    __syncthreads();  // these tiles are complete
    add_products(now, sum);
    __syncthreads();  // all threads have read them
  }
  // END SOLUTION
  store(sum, c, in.size);
}

using pipeline = cuda::pipeline<cuda::thread_scope_thread>;  // a thread waits for its own copies

/// Starts to copy a piece.
template <bool kAligned>
__device__ void start_copy(pipeline& pipe, piece p) {
  // TODO(2): cuda::memcpy_async the floats that exist: 16 bytes at once if kAligned, else one by
  //          one. Promise only the actual alignment (cuda::aligned_size_t). Store 0 for the rest.
  // BEGIN SOLUTION
  if (kAligned && p.there == 4) {
    cuda::memcpy_async(p.to, p.from, cuda::aligned_size_t<16>(16), pipe);
    return;
  }
  for (unsigned j = 0; j < 4; ++j)
    if (j < p.there)
      cuda::memcpy_async(p.to + j, p.from + j, cuda::aligned_size_t<4>(4), pipe);
    else
      p.to[j] = 0;
  // END SOLUTION
}

/// Starts to copy this thread's pieces of a slice, as a separate batch.
template <bool kAligned>
__device__ void start_tiles(pipeline& pipe, const factors& in, std::size_t first, tiles& to) {
  // TODO(3): producer_acquire(), the copies of both pieces, producer_commit().
  // BEGIN SOLUTION
  pipe.producer_acquire();
  start_copy<kAligned>(pipe, piece_of_a(in, first, to));
  start_copy<kAligned>(pipe, piece_of_b(in, first, to));
  pipe.producer_commit();
  // END SOLUTION
}

template <bool kAligned>
__global__ void __launch_bounds__(kThreads) async_copy(factors in, float* c) {
  // TODO(4): like `waiting`, with start_tiles() and a pipeline made by cuda::make_pipeline().
  //          consumer_wait() waits for this thread's oldest batch, and consumer_release() says that
  //          the thread has used it. Invariants: those of TODO(1).
  // BEGIN SOLUTION
  __shared__ tiles now;
  float sum[kRows] = {};
  pipeline pipe = cuda::make_pipeline();
  for (std::size_t first = 0; first < in.size.k; first += kTile) {
    start_tiles<kAligned>(pipe, in, first, now);
    pipe.consumer_wait();  // this thread's pieces have arrived
    __syncthreads();       // all threads' pieces have arrived
    add_products(now, sum);
    pipe.consumer_release();
    __syncthreads();  // all threads have read the tiles
  }
  store(sum, c, in.size);
  // END SOLUTION
}

template <bool kAligned>
__global__ void __launch_bounds__(kThreads) two_stages(factors in, float* c) {
  // TODO(5): start the first slice before the loop. In the loop the next slice, if there is one, is
  //          copied to one stage while the other stage is multiplied.
  //          Invariants: those of TODO(1), with one barrier per slice. Where does it guarantee
  //          both: complete before read, and read before overwritten?
  // BEGIN SOLUTION
  __shared__ tiles stage[2];
  float sum[kRows] = {};
  pipeline pipe = cuda::make_pipeline();
  if (in.size.k > 0) start_tiles<kAligned>(pipe, in, 0, stage[0]);
  unsigned current = 0;
  for (std::size_t first = 0; first < in.size.k; first += kTile) {
    pipe.consumer_wait();  // this thread's pieces of stage[current] have arrived
    // All pieces have arrived, and all have multiplied the previous tiles: the other stage is free.
    __syncthreads();
    if (first + kTile < in.size.k)
      start_tiles<kAligned>(pipe, in, first + kTile, stage[current ^ 1U]);
    add_products(stage[current], sum);
    pipe.consumer_release();
    current ^= 1U;
  }
  store(sum, c, in.size);
  // END SOLUTION
}

template <bool kAligned>
__global__ void __launch_bounds__(kThreads) many_stages(factors in, float* c, unsigned stages) {
  extern __shared__ tiles stage[];  // `stages` of them
  // TODO(6, bonus): start `stages` - 1 slices before the loop, or as many as k has. The stages form
  //          a ring: the one that has just become free is the next one to fill.
  // BEGIN SOLUTION
  float sum[kRows] = {};
  pipeline pipe = cuda::make_pipeline();
  for (unsigned s = 0; s + 1 < stages; ++s)  // the prologue
    if (s * kTile < in.size.k) start_tiles<kAligned>(pipe, in, s * kTile, stage[s]);
  const std::size_t ahead = std::size_t{stages - 1} * kTile;
  unsigned current = 0, free = stages - 1;
  for (std::size_t first = 0; first < in.size.k; first += kTile) {
    pipe.consumer_wait();  // this thread's pieces of stage[current] have arrived
    __syncthreads();       // all pieces have arrived, and all threads are done with stage[free]
    if (first + ahead < in.size.k)  // the last slices are already on their way
      start_tiles<kAligned>(pipe, in, first + ahead, stage[free]);
    add_products(stage[current], sum);
    pipe.consumer_release();
    free = current;
    current = current + 1 < stages ? current + 1 : 0;
  }
  store(sum, c, in.size);
  // END SOLUTION
}

}  // namespace

result multiply(step version, std::span<const float> a, std::span<const float> b, shape size,
                int stages) {
  return multiply_by(a, b, size, stages, [&](auto aligned, const factors& in, float* c) {
    constexpr bool kAligned = decltype(aligned)::value;
    const dim3 grid = grid_for(size);
    // When a step is written, launch it: waiting<kAligned><<<grid, kBlock>>>(in, c), and so on.
    // many_stages also gets the number of stages, and dynamic shared memory for that many `tiles`.
    // BEGIN SOLUTION
    // STUB: if (version == step::waiting) throw not_written("step waiting", 1);
    // STUB: if (version == step::async_copy) throw not_written("step async_copy", 2);  // 2 to 4
    // STUB: if (version == step::two_stages) throw not_written("step two_stages", 5);
    // STUB: if (version == step::stages) throw not_written("step stages", 6);
    const auto count = static_cast<unsigned>(stages);
    if (version == step::waiting) waiting<kAligned><<<grid, kBlock>>>(in, c);
    if (version == step::async_copy) async_copy<kAligned><<<grid, kBlock>>>(in, c);
    if (version == step::two_stages) two_stages<kAligned><<<grid, kBlock>>>(in, c);
    if (version == step::stages)
      many_stages<kAligned><<<grid, kBlock, count * sizeof(tiles)>>>(in, c, count);
    // END SOLUTION
  });
}

}  // namespace lab::async_copy
