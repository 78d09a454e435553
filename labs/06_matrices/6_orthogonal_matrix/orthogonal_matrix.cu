// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.6 orthogonal_matrix: is A · Aᵀ the identity? Neither Aᵀ nor the product is stored.
// Edit:  this file, from TODO(1) to TODO(5). orthogonal_matrix.hpp says what is asked for.
// Run:   scripts/lab run 06.6
// Test:  scripts/lab test 06.6
// Hints: scripts/lab hint 06.6                     Chapter: docs/06_matrices.md

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/time_kernel.hpp"
#include "orthogonal_matrix.hpp"

namespace lab::orthogonal_matrix {
namespace {

constexpr unsigned kTile = 16;                // a block is kTile x kTile threads
constexpr unsigned kThreads = kTile * kTile;  // one for each entry of the product
static_assert((kThreads & (kThreads - 1)) == 0, "the tree halves the block until 1 is left");

/// An entry of A · Aᵀ: how far it is from the identity's, and where it stands.
struct candidate {
  float deviation;
  std::size_t index;  // row * n + column
};

/// What a thread without an entry brings: it loses against every other.
__device__ candidate nobody() { return {-1.0F, 0}; }

/// The one of the two that is farther from the identity; of equals, the one that comes first.
__host__ __device__ candidate farther(const candidate& a, const candidate& b) {
  if (a.deviation != b.deviation) return a.deviation > b.deviation ? a : b;
  return a.index < b.index ? a : b;
}

/// How far `sum`, an entry of A · Aᵀ, is from the identity's.
__device__ float deviation_of(float sum, bool on_the_diagonal) {
  // TODO(1): its distance from 1 or 0. Every comparison with a NaN is false, so a NaN would get
  //          lost in farther(). Invariant: what is returned can be compared. A NaN counts as
  //          infinitely far (INFINITY).
  return sum;
}

/// Element (row, column) of A, and 0 outside of it.
__device__ float element(const float* a, std::size_t n, std::size_t row, std::size_t column) {
  return row < n && column < n ? a[row * n + column] : 0.0F;
}

/// From one candidate a thread to one a block, for thread 0. All threads of the block call it.
__device__ candidate farthest_of_block(candidate* all, unsigned thread, candidate mine) {
  // TODO(2): the tree of 05.1, with farther() in place of the sum.
  //          Invariant: before a level the farthest of the block is among the candidates that are
  //          still in the game, and *everyone* can see them.
  return mine;
}

__global__ void __launch_bounds__(kThreads)
    examine_tile(const float* a, candidate* of_block, std::size_t n) {
  // Entry (row, column) of A · Aᵀ is the sum over i of A[row][i] * A[column][i]: a row times a row.
  __shared__ float upper[kTile][kTile + 1];  // [row of the entry][i]
  __shared__ float lower[kTile][kTile + 1];  // [column of the entry][i]; + 1: see TODO(3)
  __shared__ candidate all[kThreads];

  // TODO(3): as in 06.5: in slices of kTile along i the block brings kTile elements of its kTile
  //          `rows` and of its kTile `columns`, which are both rows of A; each thread adds up the
  //          products for its own entry. Neighbours in x load neighbours in memory, both times.
  //          (So they read `lower` down a column. The pad keeps them out of each other's banks.)
  //          Then deviation_of(), farthest_of_block(), and one thread stores the block's
  //          candidate in `of_block`, where the block has a place of its own.
  //          A thread whose entry is outside of the product brings nobody(), but it brings it:
  //          it reaches every barrier.
}

/// How many blocks of kTile entries a row, or a column, of the product needs. (A grid has at most
/// 65 535 blocks in y: enough for a million rows, which no memory holds.)
unsigned tiles_for(std::size_t n) {
  // TODO(4): n / kTile, rounded up.
  throw not_written("the kernel and its grid", 1);  // from 1 to 4
}

/// The result, from what the blocks have found. `of_block` has at least one candidate.
result conclude(const std::vector<candidate>& of_block, std::size_t n) {
  // TODO(5): the farthest of all, as row and column, and whether it is within tolerance(n).
  throw not_written("the end of it, on the host,", 5);
}

}  // namespace

// --- given ---------------------------------------------------------------------------------------

result examine(std::span<const float> a, std::size_t rows, std::size_t columns) {
  if (rows != columns)
    throw invalid_input("orthogonal_matrix: a matrix with " + std::to_string(rows) + " rows and " +
                        std::to_string(columns) + " columns is not square");
  const std::size_t n = rows;
  if (n == 0 ? !a.empty() : a.size() / n != n || a.size() % n != 0)  // n * n may overflow
    throw invalid_input("orthogonal_matrix: A has " + std::to_string(a.size()) + " elements, and " +
                        std::to_string(n) + " x " + std::to_string(n) + " are needed");
  if (n == 0) return {};  // a grid of no blocks would be an error

  const dim3 grid(tiles_for(n), tiles_for(n)), block(kTile, kTile);
  const device_buffer device_a(a);
  device_buffer<candidate> device_of_block(std::size_t{grid.x} * grid.y);

  const float kernel_ms = time_kernel(
      [&] { examine_tile<<<grid, block>>>(device_a.data(), device_of_block.data(), n); });

  result out = conclude(device_of_block.to_vector(), n);  // one of 256 entries is left
  out.kernel_ms = kernel_ms;
  return out;
}

}  // namespace lab::orthogonal_matrix
