// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 18.1 wmma_product: the contract. What the program and the tests expect of wmma_product.cu.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab::wmma_product {

/// C = A · B, where A has m rows and k columns, B has k rows and n columns, C has m rows and n
/// columns. All are row-major: the element in row r and column c of A is a[r * k + c].
struct shape {
  std::size_t m = 0;
  std::size_t n = 0;
  std::size_t k = 0;
};

/// One idea each, in the order in which they are written.
enum class step {
  one_tile_a_warp,  ///< a warp makes 16 x 16 elements, and loads its fragments from global memory
  shared_tiles,     ///< a block's 16 warps load them from tiles in shared memory
  register_blocks,  ///< a warp makes 64 x 32 elements: each fragment is used 2 or 4 times
};

struct result {
  std::vector<float> c;  ///< m * n elements, row-major
  float kernel_ms = 0;   ///< the time of the product alone, without the conversion to half
};

/// The size of m, n and k that the program has by default on the CPU device.
inline constexpr std::size_t kDefaultSize = 256;

/// The product of two matrices of any shape, with half precision for the factors: the elements of
/// A and B are rounded to half once, to the nearest one (ties to even; from 65520 on that is
/// infinity), and what they were before plays no part any more. The products of these halves are
/// exact, and are added in float. Where m or n is 0, C is empty; where k is 0, all elements of C
/// are 0.
///
/// Accuracy: each element is at most its error_bound (reference.hpp) from the exact product of the
/// rounded matrices. Whole numbers of at most 2048, whose sums stay below 2^24, give the exact
/// result.
///
/// Throws lab::invalid_input when a does not have m * k elements or b not k * n, or when m is so
/// large that the step would need more rows of blocks than the current device's grid can have;
/// lab::cuda_error when CUDA reports an error. Neither leaves device memory behind.
///
/// Requires: a kernel whose blocks share C, and whose warps multiply on tensor cores. From
/// shared_tiles on, the warps of a block share tiles of A and B in shared memory, at least 64 rows
/// of A and 64 columns of B (or all that there are), loaded 16 bytes at a time where k and n are
/// multiples of 8. In register_blocks, a warp multiplies each fragment that it has loaded with more
/// than one other. No library multiplies.
///
/// From: CUDA C++ Programming Guide, NVIDIA, "Warp Matrix Functions". The rounding: Fasi, Higham,
/// Mikaitis and Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ Computer Science 7,
/// 2021.
result multiply(step version, std::span<const float> a, std::span<const float> b, shape size);

}  // namespace lab::wmma_product
