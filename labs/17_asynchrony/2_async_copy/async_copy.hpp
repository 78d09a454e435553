// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 17.2 async_copy: the contract. What the program and the tests expect of async_copy.cu.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab::async_copy {

/// m, n and k of the program's product on the CPU device unless it is told otherwise.
inline constexpr std::size_t kDefaultSize = 256;

/// C = A · B, where A has m rows and k columns, B has k rows and n columns, C has m rows and n
/// columns. All are row-major: the element in row r and column c of A is a[r * k + c].
struct shape {
  std::size_t m = 0;
  std::size_t n = 0;
  std::size_t k = 0;
};

/// One idea each, in the order in which they are written.
enum class step {
  waiting,     ///< tiles of A and B go through registers into shared memory, and then are used
  async_copy,  ///< the tiles are copied asynchronously, and waited for at once
  two_stages,  ///< the next tiles are copied while these are multiplied
  stages,      ///< the next few tiles are copied while these are multiplied
};

struct result {
  std::vector<float> c;  ///< m * n elements, row-major
  float kernel_ms = 0;   ///< the time of the kernel alone
};

inline constexpr int kFewestStages = 2, kMostStages = 4;

/// The product of two matrices of any shape. Where m or n is 0, C is empty; where k is 0, all
/// elements of C are 0. `stages` is how many tiles of each matrix step stages has room for; the
/// other steps ignore it.
///
/// Accuracy: each element is at most its error_bound (lab/matrix_closeness.hpp) from the exact one.
/// Whole numbers whose products and sums stay below 2^24 give the exact result.
///
/// Throws lab::invalid_input when a does not have m * k elements or b not k * n, when stages is not
/// 2 to 4, or when m is so large that the grid would need more rows of blocks than it can have on
/// the current device; lab::cuda_error when CUDA reports an error. Neither leaves device memory
/// behind.
///
/// Requires: a kernel that keeps tiles of 32 x 32 elements of A and B in shared memory. Where n and
/// k are multiples of 4, threads bring in 16 bytes at a time. From async_copy on, they do so by
/// copies that they wait for themselves, such as those of a pipeline of one thread. two_stages: a
/// thread has started its copies of the next tiles before it uses these. stages: the same for all
/// stages but the one that is used. In both, a block waits at one barrier for each tile.
///
/// From: 06.5, with tiles that are simpler. The copies: CUDA C++ Programming Guide, NVIDIA,
/// "Asynchronous Data Copies" and "Pipelines".
result multiply(step version, std::span<const float> a, std::span<const float> b, shape size,
                int stages = kFewestStages);

}  // namespace lab::async_copy
