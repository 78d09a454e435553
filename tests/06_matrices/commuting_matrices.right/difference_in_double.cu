// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: both sums are doubles until their difference is known.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::commuting_matrices {
namespace {

constexpr unsigned kTile = 16;  // a block is kTile x kTile threads, one for each entry

/// Whether the two products differ in an entry with these sums.
__device__ bool differ(const sums& entry, float relative) {
  const bool same = fabsf(entry.ab - entry.ba) <= relative * entry.magnitude;
  return !(same && isfinite(entry.magnitude));  // the magnitude is at least as large as ab and ba
}

__global__ void __launch_bounds__(kTile* kTile)
    compare_tile(const float* a, const float* b, unsigned* of_block, std::size_t n,
                 float relative) {
  // For A · B the block needs a strip of A's rows and one of B's columns, for B · A a strip of B's
  // rows and one of A's columns: four tiles at a time.
  __shared__ float rows_of_a[kTile][kTile], columns_of_b[kTile][kTile];
  __shared__ float rows_of_b[kTile][kTile], columns_of_a[kTile][kTile];
  sums mine = {};
  double exact_ab = 0, exact_ba = 0;

  const unsigned x = threadIdx.x, y = threadIdx.y;
  const std::size_t row = std::size_t{blockIdx.y} * kTile + y;
  const std::size_t column = std::size_t{blockIdx.x} * kTile + x;

  for (std::size_t first = 0; first < n; first += kTile) {
    rows_of_a[y][x] = element(a, n, row, first + x);
    rows_of_b[y][x] = element(b, n, row, first + x);
    columns_of_a[y][x] = element(a, n, first + y, column);
    columns_of_b[y][x] = element(b, n, first + y, column);
    __syncthreads();  // all four tiles are complete
    for (unsigned i = 0; i < kTile; ++i) {
      const float ab = rows_of_a[y][i] * columns_of_b[i][x];
      const float ba = rows_of_b[y][i] * columns_of_a[i][x];
      exact_ab += double(rows_of_a[y][i]) * columns_of_b[i][x];
      exact_ba += double(rows_of_b[y][i]) * columns_of_a[i][x];
      mine.ab = static_cast<float>(exact_ab - exact_ba);
      mine.magnitude += fabsf(ab) + fabsf(ba);
    }
    __syncthreads();  // all threads have read them: the next tiles may be loaded
  }

  const bool inside = row < n && column < n;
  const int count = __syncthreads_count(inside && differ(mine, relative));
  if (x == 0 && y == 0)
    of_block[std::size_t{blockIdx.y} * gridDim.x + blockIdx.x] = static_cast<unsigned>(count);
}

/// The grid for n x n entries. (It has at most 65 535 blocks in y: enough for a million rows, which
/// no memory holds.)
dim3 grid_for(std::size_t n) {
  const auto tiles = static_cast<unsigned>((n + kTile - 1) / kTile);
  return dim3(tiles, tiles);
}

/// The number of entries that differ, from the numbers of the blocks.
std::size_t total(const std::vector<unsigned>& of_block) {
  std::size_t sum = 0;
  for (const unsigned count : of_block) sum += count;
  return sum;
}

}  // namespace

result compare_products(std::span<const float> a, std::span<const float> b, std::size_t n,
                        float relative) {
  require_square("A", a.size(), n);
  require_square("B", b.size(), n);
  refuse_if(!(relative >= 0 && std::isfinite(relative)),
            "commuting_matrices: the tolerance must be a number of at least 0");
  if (n == 0) return {};  // a grid of no blocks would be an error

  const dim3 grid = grid_for(n), block(kTile, kTile);
  const device_buffer device_a(a);
  const device_buffer device_b(b);
  device_buffer<unsigned> device_of_block(std::size_t{grid.x} * grid.y);

  const float kernel_ms = time_kernel([&] {
    compare_tile<<<grid, block>>>(device_a.data(), device_b.data(), device_of_block.data(), n,
                                  relative);
  });

  result out{total(device_of_block.to_vector())};
  out.kernel_ms = kernel_ms;
  return out;
}

}  // namespace lab::commuting_matrices
