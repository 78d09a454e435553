// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// All matrices are filled up with zeros to whole tiles in global memory, so there are no borders.

#include <cuda_runtime.h>
#include <mma.h>

#include "given.hpp"

namespace lab::wmma_product {
namespace {

struct sizes {
  std::size_t m, n, k;  // padded
};

std::size_t up_to(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }

__global__ void round_and_pad(const float* from, std::size_t rows, std::size_t columns, __half* to,
                              std::size_t all_rows, std::size_t all_columns) {
  const std::size_t apart = std::size_t{gridDim.x} * blockDim.x, n = all_rows * all_columns;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += apart) {
    const std::size_t row = i / all_columns, column = i % all_columns;
    to[i] = __float2half_rn(row < rows && column < columns ? from[row * columns + column] : 0.0F);
  }
}

device_buffer<__half> rounded(std::span<const float> values, std::size_t rows, std::size_t columns,
                              std::size_t all_rows, std::size_t all_columns) {
  const device_buffer from(values);
  device_buffer<__half> to(all_rows * all_columns);
  if (to.empty()) return to;
  round_and_pad<<<128, 192>>>(from.data(), rows, columns, to.data(), all_rows, all_columns);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaDeviceSynchronize());
  return to;
}

constexpr unsigned kStacked = 2;  // warps of a block, one below the other

__global__ void __launch_bounds__(kStacked* kWarp)
    tile_of_warp(const __half* a, const __half* b, float* c, sizes s) {
  const std::size_t row = (std::size_t{blockIdx.y} * kStacked + threadIdx.y) * kTile;
  const std::size_t column = std::size_t{blockIdx.x} * kTile;
  if (row >= s.m) return;  // the same for the whole warp
  fragment_c sums;
  wmma::fill_fragment(sums, 0.0F);
  fragment_a of_a;
  fragment_b of_b;
  for (std::size_t i = 0; i < s.k; i += kTile) {
    wmma::load_matrix_sync(of_a, a + row * s.k + i, static_cast<unsigned>(s.k));
    wmma::load_matrix_sync(of_b, b + i * s.n + column, static_cast<unsigned>(s.n));
    wmma::mma_sync(sums, of_a, of_b, sums);
  }
  wmma::store_matrix_sync(c + row * s.n + column, sums, static_cast<unsigned>(s.n),
                          wmma::mem_row_major);
}

/// A block makes BM x BN elements, a warp WM x WN tiles of them.
template <unsigned BM, unsigned BN, unsigned BK, unsigned WM, unsigned WN>
struct plan {
  static constexpr unsigned kRows = BM, kColumns = BN;
  static constexpr unsigned kAcross = BN / (WN * kTile),
                            kThreads = BM / (WM * kTile) * kAcross * kWarp;
  static_assert(BM * BK / 8 % kThreads == 0 && BK * BN / 8 % kThreads == 0);

  __device__ static void run(const __half* a, const __half* b, float* c, const sizes& s) {
    __shared__ alignas(32) __half tile_a[BM][BK + 8];
    __shared__ alignas(32) __half tile_b[BK][BN + 8];
    const std::size_t top = std::size_t{blockIdx.y} * BM, left = std::size_t{blockIdx.x} * BN;
    const unsigned warp = threadIdx.x / kWarp, row = warp / kAcross * WM * kTile,
                   column = warp % kAcross * WN * kTile;
    fragment_c sums[WM][WN];
    for (auto& line : sums)
      for (auto& sum : line) wmma::fill_fragment(sum, 0.0F);
    for (std::size_t first = 0; first < s.k; first += BK) {
      for (unsigned i = threadIdx.x; i < BM * BK / 8; i += kThreads) {
        const unsigned y = i / (BK / 8), x = i % (BK / 8) * 8;
        copy_eight<true>(a, s.m, s.k, top + y, first + x, &tile_a[y][x]);
      }
      for (unsigned i = threadIdx.x; i < BK * BN / 8; i += kThreads) {
        const unsigned y = i / (BN / 8), x = i % (BN / 8) * 8;
        copy_eight<true>(b, s.k, s.n, first + y, left + x, &tile_b[y][x]);
      }
      __syncthreads();
      for (unsigned i = 0; i < BK; i += kTile) {
        fragment_a of_a[WM];
        for (unsigned r = 0; r < WM; ++r)
          wmma::load_matrix_sync(of_a[r], &tile_a[row + r * kTile][i], BK + 8);
        for (unsigned t = 0; t < WN; ++t) {
          fragment_b of_b;
          wmma::load_matrix_sync(of_b, &tile_b[i][column + t * kTile], BN + 8);
          for (unsigned r = 0; r < WM; ++r) wmma::mma_sync(sums[r][t], of_a[r], of_b, sums[r][t]);
        }
      }
      __syncthreads();
    }
    for (unsigned r = 0; r < WM; ++r)
      for (unsigned t = 0; t < WN; ++t)
        wmma::store_matrix_sync(c + (top + row + r * kTile) * s.n + left + column + t * kTile,
                                sums[r][t], static_cast<unsigned>(s.n), wmma::mem_row_major);
  }
};

template <class Plan>
__global__ void __launch_bounds__(Plan::kThreads)
    from_tiles(const __half* a, const __half* b, float* c, sizes s) {
  Plan::run(a, b, c, s);
}

using of_16_warps = plan<64, 64, 64, 1, 1>;
using of_4_warps = plan<64, 128, 16, 4, 2>;

template <class Plan>
void launch(const __half* a, const __half* b, float* c, const sizes& s) {
  const dim3 grid(static_cast<unsigned>(s.n / Plan::kColumns),
                  static_cast<unsigned>(s.m / Plan::kRows));
  from_tiles<Plan><<<grid, Plan::kThreads>>>(a, b, c, s);
}

}  // namespace

result multiply(step version, std::span<const float> a, std::span<const float> b, shape size) {
  require_matrix("wmma_product: A", a.size(), size.m, size.k);
  require_matrix("wmma_product: B", b.size(), size.k, size.n);
  if (size.m == 0 || size.n == 0) return {};
  sizes s{up_to(size.m, kTile), up_to(size.n, kTile), up_to(size.k, kTile)};
  if (version == step::shared_tiles) s = {up_to(s.m, 64), up_to(s.n, 64), up_to(s.k, 64)};
  if (version == step::register_blocks) s = {up_to(s.m, 64), up_to(s.n, 128), s.k};
  const std::size_t rows =
      version == step::one_tile_a_warp ? (s.m / kTile + kStacked - 1) / kStacked : s.m / 64;
  require_at_most(cudaDevAttrMaxGridDimY, rows, "rows of blocks in a grid");

  const device_buffer<__half> half_a = rounded(a, size.m, size.k, s.m, s.k),
                              half_b = rounded(b, size.k, size.n, s.k, s.n);
  device_buffer<float> c(s.m * s.n);
  result made;
  made.kernel_ms = time_kernel([&] {
    switch (version) {
      case step::one_tile_a_warp:
        tile_of_warp<<<dim3(static_cast<unsigned>(s.n / kTile), static_cast<unsigned>(rows)),
                       dim3(kWarp, kStacked)>>>(half_a.data(), half_b.data(), c.data(), s);
        break;
      case step::shared_tiles:
        launch<of_16_warps>(half_a.data(), half_b.data(), c.data(), s);
        break;
      case step::register_blocks:
        launch<of_4_warps>(half_a.data(), half_b.data(), c.data(), s);
        break;
    }
  });
  made.c.resize(size.m * size.n);
  CUDA_CHECK(cudaMemcpy2D(made.c.data(), size.n * sizeof(float), c.data(), s.n * sizeof(float),
                          size.n * sizeof(float), size.m, cudaMemcpyDeviceToHost));
  return made;
}

}  // namespace lab::wmma_product
