// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.2 divergent_barrier: the contract. What the program and the tests expect of
// divergent_barrier.cu.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab::divergent_barrier {

constexpr std::size_t kBlock = 256;  ///< values of a block, in sums_of_blocks()
constexpr std::size_t kRows = 8;     ///< the rows of a table, in minus_column_means()

struct result {
  std::vector<float> values;
  float kernel_ms = 0;  ///< the time of the kernel alone
};

/// The sum of the values 0 to 255, that of 256 to 511, and so forth; the last one is the sum of
/// what is left. Without values there are no sums. Each sum is at most sum_bound() (reference.hpp)
/// from the exact one, and exact where no addition is rounded (whole numbers that stay below 2^24).
///
/// Throws lab::invalid_input when one grid cannot hold so many blocks; lab::cuda_error when CUDA
/// reports an error. Neither leaves device memory behind.
///
/// Requires: in each function one kernel whose threads share the work of a block in shared memory,
/// and meet at barriers that all of them reach.
///
/// From: J. Sanders, E. Kandrot, CUDA by Example, 5.3.2: the optimisation that is not one.
result sums_of_blocks(std::span<const float> values);

/// Subtracts the mean of its column from each number of a table. The table has kRows rows, one
/// after the other: number c of row r is table[r * columns + c]. The result has the same shape.
/// Each number is at most mean_bound() from the exact one, and exact where nothing is rounded. The
/// table may be empty.
///
/// Throws lab::invalid_input when the length is no multiple of kRows, or when one grid cannot hold
/// so many blocks; lab::cuda_error as above.
result minus_column_means(std::span<const float> table);

}  // namespace lab::divergent_barrier
