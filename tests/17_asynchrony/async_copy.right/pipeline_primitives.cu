// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The primitives of <cuda_pipeline.h>; an empty batch when nothing is left to copy.

#include <cuda_pipeline.h>
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

/// Starts to copy a piece.
template <bool kAligned>
__device__ void start_copy(piece p) {
  if constexpr (kAligned) {
    if (p.there == 4)
      __pipeline_memcpy_async(p.to, p.from, 16);
    else
      *reinterpret_cast<float4*>(p.to) = make_float4(0, 0, 0, 0);
  } else {
    for (unsigned e = 0; e < 4; ++e)
      if (e < p.there)
        __pipeline_memcpy_async(p.to + e, p.from + e, 4);
      else
        p.to[e] = 0;
  }
}

/// Starts to copy this thread's pieces of a slice, as a separate batch.
template <bool kAligned>
__device__ void start_tiles(const factors& in, std::size_t first, tiles& to) {
  start_copy<kAligned>(piece_of_a(in, first, to));
  start_copy<kAligned>(piece_of_b(in, first, to));
  __pipeline_commit();
}

template <bool kAligned>
__global__ void __launch_bounds__(kThreads) async_copy(factors in, float* c) {
  __shared__ tiles now;
  float sum[kRows] = {};
  for (std::size_t first = 0; first < in.size.k; first += kTile) {
    start_tiles<kAligned>(in, first, now);
    __pipeline_wait_prior(0);
    __syncthreads();
    add_products(now, sum);
    __syncthreads();
  }
  store(sum, c, in.size);
}

template <bool kAligned>
__global__ void __launch_bounds__(kThreads) two_stages(factors in, float* c) {
  __shared__ tiles stage[2];
  float sum[kRows] = {};
  if (in.size.k > 0) start_tiles<kAligned>(in, 0, stage[0]);
  unsigned now = 0;
  for (std::size_t first = 0; first < in.size.k; first += kTile, now ^= 1) {
    __pipeline_wait_prior(0);
    __syncthreads();
    if (in.size.k - first > kTile) start_tiles<kAligned>(in, first + kTile, stage[now ^ 1]);
    add_products(stage[now], sum);
  }
  store(sum, c, in.size);
}

template <bool kAligned>
__global__ void __launch_bounds__(kThreads) many_stages(factors in, float* c, unsigned stages) {
  extern __shared__ tiles stage[];  // `stages` of them
  float sum[kRows] = {};
  std::size_t next = 0;
  unsigned to_fill = 0, now = 0;
  const auto start_next = [&] {
    if (next >= in.size.k) {
      __pipeline_commit();  // maybe an empty batch: the waits count batches
      return;
    }
    start_tiles<kAligned>(in, next, stage[to_fill]);
    next += kTile;
    to_fill = to_fill + 1 == stages ? 0 : to_fill + 1;
  };
  for (unsigned s = 0; s + 1 < stages; ++s) start_next();
  for (std::size_t first = 0; first < in.size.k; first += kTile) {
    if (stages == 2) __pipeline_wait_prior(0);
    if (stages == 3) __pipeline_wait_prior(1);
    if (stages == 4) __pipeline_wait_prior(2);
    __syncthreads();
    start_next();
    add_products(stage[now], sum);
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
