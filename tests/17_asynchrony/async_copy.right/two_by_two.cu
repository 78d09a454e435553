// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A thread computes 2 x 2 elements of C; barriers are those of cooperative groups.

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::async_copy {
namespace {

namespace cg = cooperative_groups;

/// This thread's 2 x 2 elements of the tile of C: rows 2v, 2v + 1 and columns u, u + 16.
struct sums {
  float of[2][2] = {};
  __device__ static unsigned u() { return (threadIdx.y * kTile + threadIdx.x) % (kTile / 2); }
  __device__ static unsigned v() { return (threadIdx.y * kTile + threadIdx.x) / (kTile / 2); }
  __device__ void add(const tiles& t) {
    for (unsigned i = 0; i < kTile; ++i)
      for (unsigned r = 0; r < 2; ++r)
        for (unsigned q = 0; q < 2; ++q)
          of[r][q] += t.a[2 * v() + r][i] * t.b[i][u() + q * (kTile / 2)];
  }
  __device__ void put(float* c, shape size) const {
    for (unsigned r = 0; r < 2; ++r)
      for (unsigned q = 0; q < 2; ++q) {
        const std::size_t row = std::size_t{blockIdx.y} * kTile + 2 * v() + r;
        const std::size_t column = std::size_t{blockIdx.x} * kTile + u() + q * (kTile / 2);
        if (row < size.m && column < size.n) c[row * size.n + column] = of[r][q];
      }
  }
};

template <bool kAligned>
__global__ void __launch_bounds__(kThreads) waiting(factors in, float* c) {
  __shared__ tiles now;
  sums sum;
  for (std::size_t first = 0; first < in.size.k; first += kTile) {
    load<kAligned>(piece_of_a(in, first, now));
    load<kAligned>(piece_of_b(in, first, now));
    cg::this_thread_block().sync();
    sum.add(now);
    cg::this_thread_block().sync();
  }
  sum.put(c, in.size);
}

using pipeline = cuda::pipeline<cuda::thread_scope_thread>;  // a thread waits for its own copies

/// Starts to copy a piece.
template <bool kAligned>
__device__ void start_copy(pipeline& pipe, piece p) {
  if constexpr (kAligned) {
    if (p.there == 4)
      cuda::memcpy_async(reinterpret_cast<float4*>(p.to), reinterpret_cast<const float4*>(p.from),
                         cuda::aligned_size_t<16>(16), pipe);
    else
      *reinterpret_cast<float4*>(p.to) = make_float4(0, 0, 0, 0);
  } else {
    for (unsigned e = 0; e < 4; ++e)
      if (e < p.there)
        cuda::memcpy_async(p.to + e, p.from + e, cuda::aligned_size_t<4>(4), pipe);
      else
        p.to[e] = 0;
  }
}

/// Starts to copy this thread's pieces of a slice, as a separate batch.
template <bool kAligned>
__device__ void start_tiles(pipeline& pipe, const factors& in, std::size_t first, tiles& to) {
  pipe.producer_acquire();
  start_copy<kAligned>(pipe, piece_of_a(in, first, to));
  start_copy<kAligned>(pipe, piece_of_b(in, first, to));
  pipe.producer_commit();
}

template <bool kAligned>
__global__ void __launch_bounds__(kThreads) async_copy(factors in, float* c) {
  __shared__ tiles now;
  sums sum;
  pipeline pipe = cuda::make_pipeline();
  for (std::size_t first = 0; first < in.size.k; first += kTile) {
    start_tiles<kAligned>(pipe, in, first, now);
    pipe.consumer_wait();
    cg::this_thread_block().sync();
    sum.add(now);
    pipe.consumer_release();
    cg::this_thread_block().sync();
  }
  sum.put(c, in.size);
}

template <bool kAligned>
__global__ void __launch_bounds__(kThreads) two_stages(factors in, float* c) {
  __shared__ tiles stage[2];
  sums sum;
  pipeline pipe = cuda::make_pipeline();
  if (in.size.k > 0) start_tiles<kAligned>(pipe, in, 0, stage[0]);
  unsigned now = 0;
  for (std::size_t first = 0; first < in.size.k; first += kTile, now ^= 1) {
    pipe.consumer_wait();
    cg::this_thread_block().sync();
    if (in.size.k - first > kTile) start_tiles<kAligned>(pipe, in, first + kTile, stage[now ^ 1]);
    sum.add(stage[now]);
    pipe.consumer_release();
  }
  sum.put(c, in.size);
}

template <bool kAligned>
__global__ void __launch_bounds__(kThreads) many_stages(factors in, float* c, unsigned stages) {
  extern __shared__ tiles stage[];  // `stages` of them
  sums sum;
  pipeline pipe = cuda::make_pipeline();
  std::size_t next = 0;
  unsigned to_fill = 0, now = 0;
  const auto start_next = [&] {
    if (next >= in.size.k) return;
    start_tiles<kAligned>(pipe, in, next, stage[to_fill]);
    next += kTile;
    to_fill = to_fill + 1 == stages ? 0 : to_fill + 1;
  };
  for (unsigned s = 0; s + 1 < stages; ++s) start_next();
  for (std::size_t first = 0; first < in.size.k; first += kTile) {
    pipe.consumer_wait();
    cg::this_thread_block().sync();
    start_next();
    sum.add(stage[now]);
    pipe.consumer_release();
    now = now + 1 == stages ? 0 : now + 1;
  }
  sum.put(c, in.size);
}

template <bool kAligned>
void launch(step version, dim3 grid, const factors& in, float* c, unsigned stages) {
  switch (version) {
    case step::waiting:
      waiting<kAligned><<<grid, kBlock>>>(in, c);
      break;
    case step::async_copy:
      async_copy<kAligned><<<grid, kBlock>>>(in, c);
      break;
    case step::two_stages:
      two_stages<kAligned><<<grid, kBlock>>>(in, c);
      break;
    case step::stages:
      many_stages<kAligned><<<grid, kBlock, stages * sizeof(tiles)>>>(in, c, stages);
      break;
  }
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace

result multiply(step version, std::span<const float> a, std::span<const float> b, shape size,
                int stages) {
  return multiply_by(a, b, size, stages, [&](auto aligned, const factors& in, float* c) {
    launch<decltype(aligned)::value>(version, grid_for(size), in, c, static_cast<unsigned>(stages));
  });
}

}  // namespace lab::async_copy
