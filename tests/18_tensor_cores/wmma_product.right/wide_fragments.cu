// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Warps that compute one tile after the other, fragments of 8 x 32 x 16, tiles of 64 x 64 in both
// steps.

#include <cuda_runtime.h>
#include <mma.h>

#include <algorithm>

#include "given.hpp"

namespace lab::wmma_product {
namespace {

constexpr unsigned kLow = 8, kWide = 32;
using wide_a = wmma::fragment<wmma::matrix_a, kLow, kWide, kTile, __half, wmma::row_major>;
using wide_b = wmma::fragment<wmma::matrix_b, kLow, kWide, kTile, __half, wmma::row_major>;
using wide_c = wmma::fragment<wmma::accumulator, kLow, kWide, kTile, float>;

__global__ void __launch_bounds__(kWarpsOfBlock* kWarp) one_tile_a_warp(factors in, float* c) {
  __shared__ alignas(32) __half copy[kWarpsOfBlock][kTile][kTile];
  __shared__ alignas(32) float patch[kWarpsOfBlock][kTile][kTile];
  const unsigned warp = threadIdx.x / kWarp;
  const std::size_t across = (in.size.n + kTile - 1) / kTile;
  const std::size_t tiles = (in.size.m + kTile - 1) / kTile * across;
  const std::size_t step = std::size_t{gridDim.x} * kWarpsOfBlock;
  for (std::size_t t = std::size_t{blockIdx.x} * kWarpsOfBlock + warp; t < tiles; t += step) {
    const std::size_t row = t / across * kTile, column = t % across * kTile;
    fragment_c sums;
    wmma::fill_fragment(sums, 0.0F);
    for (std::size_t i = 0; i < in.size.k; i += kTile) {
      fragment_a of_a;
      fragment_b of_b;
      copy_tile(in.a, in.size.m, in.size.k, row, i, copy[warp]);
      wmma::load_matrix_sync(of_a, &copy[warp][0][0], kTile);
      copy_tile(in.b, in.size.k, in.size.n, i, column, copy[warp]);
      wmma::load_matrix_sync(of_b, &copy[warp][0][0], kTile);
      wmma::mma_sync(sums, of_a, of_b, sums);
    }
    store_sums(sums, c, in.size, row, column, patch[warp]);
  }
}

/// A warp computes kRows x kColumns tiles of 8 x 32 elements, and a block 64 x 64 elements of C.
template <unsigned kRows, unsigned kColumns, bool kAligned>
__global__ void wide(factors in, float* c) {
  constexpr unsigned kEdge = 64, kDepth = 16, kPad = 8;
  constexpr unsigned kWarpsAcross = kEdge / (kColumns * kWide);
  __shared__ alignas(32) __half a[kEdge][kDepth + kPad];
  __shared__ alignas(32) __half b[kDepth][kEdge + kPad];
  __shared__ alignas(32) float sums_of_block[kEdge][kEdge];
  const unsigned warp = threadIdx.x / kWarp;
  const unsigned y = warp / kWarpsAcross * kRows * kLow;
  const unsigned x = warp % kWarpsAcross * kColumns * kWide;
  const std::size_t row = std::size_t{blockIdx.y} * kEdge, column = std::size_t{blockIdx.x} * kEdge;
  wide_c sums[kRows][kColumns];
  for (auto& of_row : sums)
    for (auto& sum : of_row) wmma::fill_fragment(sum, 0.0F);
  for (std::size_t first = 0; first < in.size.k; first += kDepth) {
    for (unsigned i = threadIdx.x; i < kEdge * kDepth / 8; i += blockDim.x) {
      const unsigned ya = i / (kDepth / 8), xa = i % (kDepth / 8) * 8;
      copy_eight<kAligned>(in.a, in.size.m, in.size.k, row + ya, first + xa, &a[ya][xa]);
      const unsigned yb = i / (kEdge / 8), xb = i % (kEdge / 8) * 8;
      copy_eight<kAligned>(in.b, in.size.k, in.size.n, first + yb, column + xb, &b[yb][xb]);
    }
    __syncthreads();
    wide_a of_a[kRows];
    for (unsigned r = 0; r < kRows; ++r)
      wmma::load_matrix_sync(of_a[r], &a[y + r * kLow][0], kDepth + kPad);
    for (unsigned s = 0; s < kColumns; ++s) {
      wide_b of_b;
      wmma::load_matrix_sync(of_b, &b[0][x + s * kWide], kEdge + kPad);
      for (unsigned r = 0; r < kRows; ++r) wmma::mma_sync(sums[r][s], of_a[r], of_b, sums[r][s]);
    }
    __syncthreads();
  }
  for (unsigned r = 0; r < kRows; ++r)
    for (unsigned s = 0; s < kColumns; ++s)
      wmma::store_matrix_sync(&sums_of_block[y + r * kLow][x + s * kWide], sums[r][s], kEdge,
                              wmma::mem_row_major);
  __syncthreads();
  for (unsigned i = threadIdx.x; i < kEdge * kEdge; i += blockDim.x)
    if (row + i / kEdge < in.size.m && column + i % kEdge < in.size.n)
      c[(row + i / kEdge) * in.size.n + column + i % kEdge] = sums_of_block[i / kEdge][i % kEdge];
}

/// The number of blocks: at most four for each multiprocessor. They take one tile after the other.
unsigned persistent_blocks(std::size_t tiles) {
  return static_cast<unsigned>(
      std::min<std::size_t>(tiles, 4 * std::size_t{device_limit(cudaDevAttrMultiProcessorCount)}));
}

template <unsigned kRows, unsigned kColumns>
void launch_wide(const factors& in, float* c) {
  const auto kernel =
      rows_are_aligned(in.size) ? wide<kRows, kColumns, true> : wide<kRows, kColumns, false>;
  constexpr unsigned kWarps = 64 / (kRows * kLow) * (64 / (kColumns * kWide));
  kernel<<<grid_for(in.size, 64, 64), kWarps * kWarp>>>(in, c);
}

void launch(step version, const factors& in, float* c) {
  switch (version) {
    case step::one_tile_a_warp:
      one_tile_a_warp<<<persistent_blocks((in.size.m + 15) / 16 * ((in.size.n + 15) / 16)),
                        kWarpsOfBlock * kWarp>>>(in, c);
      return;
    case step::shared_tiles:
      return launch_wide<1, 1>(in, c);
    case step::register_blocks:
      return launch_wide<2, 2>(in, c);
  }
  throw invalid_input("wmma_product: there is no such step");
}

}  // namespace

result multiply(step version, std::span<const float> a, std::span<const float> b, shape size) {
  return multiply_by(a, b, size, [&](const factors& in, float* c) { launch(version, in, c); });
}

}  // namespace lab::wmma_product
