// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.7 jacobi: the contract. What the program and the tests expect of jacobi.cu.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab::jacobi {

/// A block has at most 1024 threads, and each cell of the interior has a thread: 32 * 32.
constexpr std::size_t kMaxSide = 32;

struct result {
  std::vector<float> matrix;
  float kernel_ms = 0;  ///< the time of the kernel alone
};

/// Relaxes the interior of a matrix `sweeps` times, and leaves its border as it is.
///
/// The interior has side * side cells, side from 1 to kMaxSide; the border around it makes the
/// matrix side + 2 rows of side + 2 floats, row by row. In a sweep every cell of the interior
/// becomes the mean of its four neighbours *as they were before the sweep*:
///
///     0.25 * (((up + left) + right) + down)
///
/// in floats, and in this order: so the result has one right value, to the last bit, and a zero has
/// its sign. With 0 sweeps the matrix comes back unchanged. The four corners are nobody's
/// neighbours: what they hold, NaN for example, changes no other cell.
///
/// Throws lab::invalid_input when side is 0 or above kMaxSide, or the matrix has another number of
/// elements; lab::cuda_error when CUDA reports an error. Neither leaves device memory behind.
///
/// Requires: a kernel with a thread for each cell of the interior, and the matrix, border included,
/// in shared memory for all sweeps.
///
/// From: the course on parallel programming with C++ of Ulm University, CUDA part (there side is 16
/// or 22).
result relax(std::span<const float> matrix, std::size_t side, std::size_t sweeps);

}  // namespace lab::jacobi
