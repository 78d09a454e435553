// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.2 transpose: the contract. What the program and the tests expect of transpose.cu.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab::transpose {

/// Four ways, in the order in which they are written.
enum class step {
  naive,        ///< each thread moves one element from global memory to global memory
  tile,         ///< a block of 32 x 32 threads takes a tile of 32 x 32 through shared memory
  padded_tile,  ///< the same with an unused column in the tile: no bank conflicts
  coarse_tile,  ///< a padded tile of 64 x 64, and 32 x 8 threads: each has 16 loads in flight
};

struct result {
  std::vector<float> transposed;  ///< `columns` rows of `rows` elements, row-major
  float kernel_ms = 0;            ///< the time of the kernel alone
};

/// The transpose of a matrix of any shape: element [x * rows + y] of the result is element
/// [y * columns + x] of `matrix`, bit for bit. Where rows or columns is 0, the result is empty.
///
/// Throws lab::invalid_input when the matrix does not have rows * columns elements, or has more
/// rows than the blocks of the step can cover in the current device's largest grid; lab::cuda_error
/// when CUDA reports an error. Neither leaves device memory behind.
///
/// Requires: a kernel that moves every element; in all steps but naive through shared memory,
/// so that loads and stores are both coalesced; in padded_tile and coarse_tile without bank
/// conflicts.
///
/// From: the Kazan course on CUDA programming technology, chapter 6 (1000 x 2000 floats, blocks of
/// 16 x 16). The tiles are ours.
result transpose(step version, std::span<const float> matrix, std::size_t rows,
                 std::size_t columns);

}  // namespace lab::transpose
