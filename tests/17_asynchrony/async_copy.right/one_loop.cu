// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// two_stages: one loop, which starts a slice and then multiplies the one before it.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::async_copy {
namespace {

template <bool kAligned>
__global__ void __launch_bounds__(kThreads) waiting(factors in, float* c) {
  __shared__ tiles now;
  float sum[kRows] = {};
  for (std::size_t first = 0; first < in.size.k; first += kTile) {
    load<kAligned>(piece_of_a(in, first, now));
    load<kAligned>(piece_of_b(in, first, now));
    __syncthreads();
    add_products(now, sum);
    __syncthreads();
  }
  store(sum, c, in.size);
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
  float sum[kRows] = {};
  pipeline pipe = cuda::make_pipeline();
  for (std::size_t first = 0; first < in.size.k; first += kTile) {
    start_tiles<kAligned>(pipe, in, first, now);
    pipe.consumer_wait();
    __syncthreads();
    add_products(now, sum);
    pipe.consumer_release();
    __syncthreads();
  }
  store(sum, c, in.size);
}

template <bool kAligned>
__global__ void __launch_bounds__(kThreads) two_stages(factors in, float* c) {
  __shared__ tiles stage[2];
  float sum[kRows] = {};
  pipeline pipe = cuda::make_pipeline();
  const std::size_t slices = (in.size.k + kTile - 1) / kTile;
  for (std::size_t slice = 0; slice <= slices; ++slice) {  // slice is started, slice - 1 is used
    if (slice > 0) {
      cuda::pipeline_consumer_wait_prior<0>(pipe);
      __syncthreads();
    }
    if (slice < slices) start_tiles<kAligned>(pipe, in, slice * kTile, stage[slice % 2]);
    if (slice > 0) add_products(stage[(slice - 1) % 2], sum);
  }
  store(sum, c, in.size);
}

template <bool kAligned>
__global__ void __launch_bounds__(kThreads) many_stages(factors in, float* c, unsigned stages) {
  extern __shared__ float4 bytes[];  // of `stages` stages
  tiles* const stage = reinterpret_cast<tiles*>(bytes);
  float sum[kRows] = {};
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
    __syncthreads();
    start_next();
    add_products(stage[now], sum);
    pipe.consumer_release();
    now = now + 1 == stages ? 0 : now + 1;
  }
  store(sum, c, in.size);
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
