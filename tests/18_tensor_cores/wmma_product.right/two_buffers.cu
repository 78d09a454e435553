// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Two tiles of each matrix: the next ones are loaded into one pair while the other is multiplied.

#include <cuda_runtime.h>
#include <mma.h>

#include "given.hpp"

namespace lab::wmma_product {
namespace {

__global__ void __launch_bounds__(kWarpsOfBlock* kWarp) one_tile_a_warp(factors in, float* c) {
  __shared__ alignas(32) __half copy[2][kWarpsOfBlock][kTile][kTile];
  __shared__ alignas(32) float patch[kWarpsOfBlock][kTile][kTile];
  const unsigned warp = threadIdx.x / kWarp;
  const std::size_t row = std::size_t{blockIdx.y} * kTile;
  const std::size_t column = (std::size_t{blockIdx.x} * kWarpsOfBlock + warp) * kTile;
  if (column >= in.size.n) return;  // the whole warp: it has no barrier with the others
  fragment_a of_a;
  fragment_b of_b;
  fragment_c sums;
  wmma::fill_fragment(sums, 0.0F);
  const auto whole = static_cast<unsigned>(in.size.k / kTile * kTile);
  const bool direct_a = row + kTile <= in.size.m && in.size.k % 8 == 0;
  const bool direct_b = column + kTile <= in.size.n && in.size.n % 8 == 0;
  for (std::size_t i = 0; i < in.size.k; i += kTile) {
    if (direct_a && i < whole) {
      wmma::load_matrix_sync(of_a, in.a + row * in.size.k + i, static_cast<unsigned>(in.size.k));
    } else {
      copy_tile(in.a, in.size.m, in.size.k, row, i, copy[0][warp]);
      wmma::load_matrix_sync(of_a, &copy[0][warp][0][0], kTile);
    }
    if (direct_b && i < whole) {
      wmma::load_matrix_sync(of_b, in.b + i * in.size.n + column, static_cast<unsigned>(in.size.n));
    } else {
      copy_tile(in.b, in.size.k, in.size.n, i, column, copy[1][warp]);
      wmma::load_matrix_sync(of_b, &copy[1][warp][0][0], kTile);
    }
    wmma::mma_sync(sums, of_a, of_b, sums);
  }
  store_sums(sums, c, in.size, row, column, patch[warp]);
}

template <class T, bool kAligned>
__global__ void __launch_bounds__(T::kThreads) from_two_buffers(factors in, float* c) {
  extern __shared__ __align__(32) unsigned char memory[];
  auto* const tiles = reinterpret_cast<block_tiles<T>*>(memory);  // two of them
  const unsigned warp = threadIdx.x / kWarp;
  const unsigned row = warp / T::kWarpsAcross * T::WM * kTile;
  const unsigned column = warp % T::kWarpsAcross * T::WN * kTile;
  fragment_c sums[T::WM][T::WN];
  for (auto& of_row : sums)
    for (auto& sum : of_row) wmma::fill_fragment(sum, 0.0F);

  unsigned now = 0;
  if (in.size.k != 0) load_tiles<T, kAligned>(in, 0, tiles[0]);
  for (std::size_t first = 0; first < in.size.k; first += T::BK, now ^= 1U) {
    __syncthreads();  // tiles[now] are complete, and no thread reads the others any more
    if (first + T::BK < in.size.k) load_tiles<T, kAligned>(in, first + T::BK, tiles[now ^ 1U]);
    const block_tiles<T>& from = tiles[now];
    for (unsigned i = 0; i < T::BK; i += kTile) {
      fragment_b of_b[T::WN];
      for (unsigned s = 0; s < T::WN; ++s)
        wmma::load_matrix_sync(of_b[s], &from.b[i][column + s * kTile], T::BN + T::kPad);
      for (unsigned r = 0; r < T::WM; ++r) {
        fragment_a of_a;
        wmma::load_matrix_sync(of_a, &from.a[row + r * kTile][i], T::BK + T::kPad);
        for (unsigned s = 0; s < T::WN; ++s) wmma::mma_sync(sums[r][s], of_a, of_b[s], sums[r][s]);
      }
    }
  }
  for (unsigned r = 0; r < T::WM; ++r)
    for (unsigned s = 0; s < T::WN; ++s)
      store_sums(sums[r][s], c, in.size, std::size_t{blockIdx.y} * T::BM + row + r * kTile,
                 std::size_t{blockIdx.x} * T::BN + column + s * kTile, tiles[0].patch[warp]);
}

template <class T>
void launch_from_two_buffers(const factors& in, float* c) {
  const auto kernel =
      rows_are_aligned(in.size) ? from_two_buffers<T, true> : from_two_buffers<T, false>;
  constexpr int kBytes = 2 * sizeof(block_tiles<T>);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  kernel<<<grid_for(in.size, T::BM, T::BN), T::kThreads, kBytes>>>(in, c);
}

void launch(step version, const factors& in, float* c) {
  if (version == step::one_tile_a_warp) {
    const dim3 grid = grid_for(in.size, kTile, kWarpsOfBlock * kTile);
    one_tile_a_warp<<<grid, kWarpsOfBlock * kWarp>>>(in, c);
  } else if (version == step::shared_tiles) {
    launch_from_two_buffers<tiling_shared>(in, c);
  } else if (version == step::register_blocks) {
    launch_from_two_buffers<tiling_registers>(in, c);
  } else {
    throw invalid_input("wmma_product: there is no such step");
  }
}

}  // namespace

result multiply(step version, std::span<const float> a, std::span<const float> b, shape size) {
  return multiply_by(a, b, size, [&](const factors& in, float* c) { launch(version, in, c); });
}

}  // namespace lab::wmma_product
