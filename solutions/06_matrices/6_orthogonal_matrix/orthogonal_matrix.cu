// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.6 orthogonal_matrix: is A · Aᵀ the identity? Neither Aᵀ nor the product is stored.
// Edit:  this file, from TODO(1) to TODO(6). orthogonal_matrix.hpp has the contract.
// Run:   scripts/lab run 06.6
// Test:  scripts/lab test 06.6
// Hints: scripts/lab hint 06.6                     Chapter: docs/06_matrices.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::orthogonal_matrix {
namespace {

constexpr unsigned kTile = 16;                // a block is kTile x kTile threads
constexpr unsigned kThreads = kTile * kTile;  // one for each entry of the product
static_assert((kThreads & (kThreads - 1)) == 0, "the tree halves the block until 1 is left");

/// How far `sum`, an entry of A · Aᵀ, is from the identity's.
__device__ float deviation_of(float sum, bool on_the_diagonal) {
  // TODO(1): its distance from 1 or 0. Every comparison with a NaN is false, so a NaN would get
  //          lost in farther(). Invariant: the result can be compared. A NaN counts as infinitely
  //          far (INFINITY).
  // BEGIN SOLUTION
  // STUB: return sum;
  const float deviation = fabsf(sum - (on_the_diagonal ? 1.0F : 0.0F));
  return isnan(deviation) ? INFINITY : deviation;
  // END SOLUTION
}

/// From one candidate per thread to one per block, for thread 0. All threads of the block call it.
__device__ candidate farthest_of_block(candidate* all, unsigned thread, candidate mine) {
  // TODO(2): the tree of 05.1, with farther() in place of the sum.
  //          Invariant: before a level the farthest of the block is among the candidates that are
  //          still in the tree, and *all threads* can see them.
  // BEGIN SOLUTION
  // STUB: return mine;
  all[thread] = mine;
  __syncthreads();  // all candidates are in place

  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    if (thread < half) all[thread] = farther(all[thread], all[thread + half]);
    __syncthreads();  // this level is complete; outside the if: all threads of the block arrive
  }
  return all[0];
  // END SOLUTION
}

__global__ void __launch_bounds__(kThreads)
    examine_tile(const float* a, candidate* of_block, std::size_t n) {
  // Entry (row, column) of A · Aᵀ is the sum over i of A[row][i] * A[column][i]: a row times a row.
  __shared__ float upper[kTile][kTile + 1];  // [row of the entry][i]
  __shared__ float lower[kTile][kTile + 1];  // [column of the entry][i]; + 1: see TODO(3)
  __shared__ candidate all[kThreads];

  // TODO(3): as in 06.5: in slices of kTile along i the block loads kTile elements of its kTile
  //          `rows` and of its kTile `columns`, which are both rows of A; each thread adds up the
  //          products for its own entry. Neighbours in x load neighbours in memory, both times.
  //          (So they read `lower` down a column. The padding prevents bank conflicts.)
  //          Then deviation_of(), farthest_of_block(), and one thread stores the block's
  //          candidate in `of_block`, where each block has its own element.
  //          A thread whose entry is outside the product contributes nobody(), but it must not
  //          skip this: it reaches every barrier.
  // BEGIN SOLUTION
  const unsigned x = threadIdx.x, y = threadIdx.y;
  const std::size_t first_row = std::size_t{blockIdx.y} * kTile;
  const std::size_t first_column = std::size_t{blockIdx.x} * kTile;

  float sum = 0;
  for (std::size_t first = 0; first < n; first += kTile) {
    upper[y][x] = element(a, n, first_row + y, first + x);
    lower[y][x] = element(a, n, first_column + y, first + x);
    __syncthreads();  // both tiles are complete
    for (unsigned i = 0; i < kTile; ++i) sum += upper[y][i] * lower[x][i];
    __syncthreads();  // all threads have read them: the next tiles may be loaded
  }

  const std::size_t row = first_row + y, column = first_column + x;
  candidate mine = nobody();
  if (row < n && column < n) mine = {deviation_of(sum, row == column), row * n + column};
  const unsigned thread = y * kTile + x;
  const candidate farthest = farthest_of_block(all, thread, mine);
  if (thread == 0) of_block[std::size_t{blockIdx.y} * gridDim.x + blockIdx.x] = farthest;
  // END SOLUTION
}

/// How many blocks of kTile entries a row, or a column, of the product needs. (A grid has at most
/// 65 535 blocks in y: enough for a million rows, which no memory holds.)
unsigned tiles_for(std::size_t n) {
  // TODO(4): n / kTile, rounded up.
  // BEGIN SOLUTION
  // STUB: throw not_written("the kernel and its grid", 1);  // from 1 to 4
  return static_cast<unsigned>((n + kTile - 1) / kTile);
  // END SOLUTION
}

/// The result, from the candidates of all blocks. `of_block` has at least one candidate.
result conclude(const std::vector<candidate>& of_block, std::size_t n) {
  // TODO(5): the farthest of all, as row and column, and whether it is within tolerance(n).
  // BEGIN SOLUTION
  // STUB: throw not_written("the end of it, on the host,", 5);
  candidate farthest = of_block.front();
  for (const candidate& each : of_block) farthest = farther(farthest, each);
  result out;
  out.deviation = farthest.deviation;
  out.orthogonal = farthest.deviation <= tolerance(n);
  out.row = farthest.index / n;
  out.column = farthest.index % n;
  return out;
  // END SOLUTION
}

}  // namespace

result examine(std::span<const float> a, std::size_t rows, std::size_t columns) {
  require_good(a, rows, columns);
  const std::size_t n = rows;
  if (n == 0) return {};  // a grid of no blocks would be an error

  const dim3 grid(tiles_for(n), tiles_for(n)), block(kTile, kTile);
  // TODO(6): A on the device, memory for the candidate of each block, the launch in time_kernel().
  //          conclude() gets all candidates.
  // BEGIN SOLUTION
  // STUB: throw not_written("the examination", 1);  // 1 to 6
  const device_buffer device_a(a);
  device_buffer<candidate> device_of_block(std::size_t{grid.x} * grid.y);

  const float kernel_ms = time_kernel(
      [&] { examine_tile<<<grid, block>>>(device_a.data(), device_of_block.data(), n); });

  result out = conclude(device_of_block.to_vector(), n);  // one of 256 entries is left
  out.kernel_ms = kernel_ms;
  return out;
  // END SOLUTION
}

}  // namespace lab::orthogonal_matrix
