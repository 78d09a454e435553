// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.5 tiled_matmul: the contract. What the program and the tests expect of tiled_matmul.cu.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab::tiled_matmul {

/// m, n and k of the program's product on the CPU device unless it is told otherwise.
inline constexpr std::size_t kDefaultSize = 512;

/// C = A · B, where A has m rows and k columns, B has k rows and n columns, C has m rows and n
/// columns. All are row-major: the element in row r and column c of A is a[r * k + c].
struct shape {
  std::size_t m = 0;
  std::size_t n = 0;
  std::size_t k = 0;
};

/// One idea each, in the order in which they are written.
enum class step {
  tile_16,          ///< a block of 16 x 16 threads, an element for each; tiles in shared memory
  tile_32,          ///< the same kernel with 32 x 32
  coarse_1d,        ///< 64 x 64 elements per block; a thread computes 8 of a column
  coarse_2d,        ///< 128 x 128 elements per block; a thread computes 8 x 8
  vectorized,       ///< the same, 16 bytes at a time
  double_buffered,  ///< the same, loading one slice while it multiplies another
  by_size,          ///< the same, with tiles that suit the size of C and the GPU
};

struct result {
  std::vector<float> c;  ///< m * n elements, row-major
  float kernel_ms = 0;   ///< the time of the kernel alone
};

/// The product of two matrices of any shape. Where m or n is 0, C is empty; where k is 0, all
/// elements of C are 0.
///
/// Accuracy: each element is at most its error_bound (lab/matrix_closeness.hpp) from the exact one.
/// Whole numbers whose products and sums stay below 2^24 give the exact result.
///
/// Throws lab::invalid_input when a does not have m * k elements or b not k * n, or when m is so
/// large that the step would need more rows of blocks than the current device's grid can have;
/// lab::cuda_error when CUDA reports an error. Neither leaves device memory behind.
///
/// Requires: a kernel that keeps tiles of A and B in shared memory, as large as the step says (of
/// by_size: at least 32 x 32, and smaller than 128 x 128 where most multiprocessors would have no
/// such tile), so that global memory is read that many times less often; from vectorized on it
/// loads 16 bytes at a time, from shared memory always and from global memory where n and k are
/// multiples of 4; in double_buffered its threads load a slice while they multiply the one before,
/// and wait for each other once per slice. No library multiplies.
///
/// From: the Kazan course on CUDA programming technology, chapter 7 (tiles in shared memory), with
/// the tile as a template parameter and the sizes of the UVT report on data parallelism. The steps
/// from coarse_1d on are ours.
result multiply(step version, std::span<const float> a, std::span<const float> b, shape size);

}  // namespace lab::tiled_matmul
