// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.7 commuting_matrices: is A · B the same as B · A? Neither product is stored.
// Edit:  this file, from TODO(1) to TODO(6). commuting_matrices.hpp has the contract.
// Run:   scripts/lab run 06.7
// Test:  scripts/lab test 06.7
// Hints: scripts/lab hint 06.7                      Chapter: docs/06_matrices.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::commuting_matrices {
namespace {

constexpr unsigned kTile = 16;  // a block is kTile x kTile threads, one for each entry

/// Whether the two products differ in an entry with these sums.
__device__ bool differ(const sums& entry, float relative) {
  // TODO(1): commuting_matrices.hpp says when. Every comparison with a NaN is false, and infinity
  //          <= infinity is true: neither may make two entries look equal.
  // BEGIN SOLUTION
  // STUB: return false;
  const bool same = fabsf(entry.ab - entry.ba) <= relative * entry.magnitude;
  return !(same && isfinite(entry.magnitude));  // the magnitude is at least as large as ab and ba
  // END SOLUTION
}

__global__ void __launch_bounds__(kTile* kTile)
    compare_tile(const float* a, const float* b, unsigned* of_block, std::size_t n,
                 float relative) {
  // For A · B the block needs a strip of A's rows and one of B's columns, for B · A a strip of B's
  // rows and one of A's columns: four tiles at a time.
  __shared__ float rows_of_a[kTile][kTile], columns_of_b[kTile][kTile];
  __shared__ float rows_of_b[kTile][kTile], columns_of_a[kTile][kTile];
  sums mine = {};

  // TODO(2): as in 06.5, in slices of kTile: the block fills the four tiles, then each thread adds
  //          up ab, ba and the magnitude of its own entry.
  //          Invariants: no thread reads an incomplete tile, or overwrites a tile that another one
  //          still reads, and every thread reaches every barrier.
  // BEGIN SOLUTION
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
      mine.ab += ab;
      mine.ba += ba;
      mine.magnitude += fabsf(ab) + fabsf(ba);
    }
    __syncthreads();  // all threads have read them: the next tiles may be loaded
  }
  // END SOLUTION

  // TODO(3): how many entries of this block differ? __syncthreads_count(condition) is a barrier
  //          that returns to every thread how many threads of the block the condition holds for.
  //          One thread stores it in `of_block`, where each block has its own element. A thread
  //          without an entry has none that differs, but it reaches this barrier as well.
  // BEGIN SOLUTION
  const bool inside = row < n && column < n;
  const int count = __syncthreads_count(inside && differ(mine, relative));
  if (x == 0 && y == 0)
    of_block[std::size_t{blockIdx.y} * gridDim.x + blockIdx.x] = static_cast<unsigned>(count);
  // END SOLUTION
}

/// The grid for n x n entries. (It has at most 65 535 blocks in y: enough for a million rows, which
/// no memory holds.)
dim3 grid_for(std::size_t n) {
  // TODO(4): a block for each kTile x kTile entries, including incomplete ones at the edges.
  // BEGIN SOLUTION
  // STUB: throw not_written("the kernel and its grid", 1);  // from 1 to 4
  const auto tiles = static_cast<unsigned>((n + kTile - 1) / kTile);
  return dim3(tiles, tiles);
  // END SOLUTION
}

/// The number of entries that differ, from the numbers of the blocks.
std::size_t total(const std::vector<unsigned>& of_block) {
  // TODO(5): their sum. It may be larger than an unsigned.
  // BEGIN SOLUTION
  // STUB: throw not_written("the end of it, on the host,", 5);
  std::size_t sum = 0;
  for (const unsigned count : of_block) sum += count;
  return sum;
  // END SOLUTION
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
  // TODO(6): A and B on the device, memory for the blocks' counts, the launch in time_kernel().
  //          total() gets all counts.
  // BEGIN SOLUTION
  // STUB: throw not_written("the comparison of the products", 1);  // 1 to 6
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
  // END SOLUTION
}

}  // namespace lab::commuting_matrices
