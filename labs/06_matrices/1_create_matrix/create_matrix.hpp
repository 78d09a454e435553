// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.1 create_matrix: the contract. What the program and the tests expect of create_matrix.cu.
#pragma once

#include <cstddef>
#include <vector>

namespace lab::create_matrix {

/// The grid and the block of a launch, in two dimensions. x goes along the columns.
struct launch_shape {
  unsigned grid_x = 1, grid_y = 1;    ///< blocks
  unsigned block_x = 1, block_y = 1;  ///< threads of a block
};

struct result {
  std::vector<int> elements;  ///< rows * columns, row-major: A[y][x] is elements[y * columns + x]
  float kernel_ms = 0;        ///< the time of the kernel alone
};

/// Blocks of 16 x 16 threads, as few as have a thread for each element of a matrix; but in each
/// direction at least one block, and at most as many as the current device's grid can have.
///
/// Throws lab::cuda_error when CUDA reports an error.
launch_shape covering(std::size_t rows, std::size_t columns);

/// The matrix A[y][x] = 10 * y + x, made on the device by a launch of exactly this shape: the
/// result is the same for every shape. (Of a 10 x 10 matrix the elements are 0 to 99 in order.)
/// Where rows or columns is 0, the matrix is empty.
///
/// Throws lab::invalid_input when the shape is one that the current device cannot launch (nothing,
/// or too much of something: the sentence names the limit), or when the last element would not fit
/// into an int; lab::cuda_error when CUDA reports an error. Neither leaves device memory behind.
///
/// Requires: a launch of exactly the shape that was asked for, whose threads share the elements.
/// Threads that are neighbours in x store neighbours in a row: the stores are coalesced as far as
/// the shape allows.
///
/// From: the Kazan course on CUDA programming technology, chapter 6, which makes a 10 x 10 matrix
/// and asks to try other grids and blocks.
result create(std::size_t rows, std::size_t columns, launch_shape shape);

}  // namespace lab::create_matrix
