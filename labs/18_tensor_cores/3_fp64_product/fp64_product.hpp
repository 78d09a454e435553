// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 18.3 fp64_product: the contract. What the program and the tests expect of fp64_product.cu.
//
// Needs compute capability 8.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab::fp64_product {

/// C = A · B, where A has m rows and k columns, B has k rows and n columns, C has m rows and n
/// columns. All are row-major: the element in row r and column c of A is a[r * k + c].
struct shape {
  std::size_t m = 0;
  std::size_t n = 0;
  std::size_t k = 0;
};

/// One idea each, in the order in which they are written.
enum class step {
  cuda_cores,  ///< tiles in shared memory, and a fused multiply-add per thread and product
  wmma,        ///< the same, but a warp multiplies 8 x 4 by 4 x 8 elements on a tensor core
  staged,      ///< larger tiles, and the next slices are copied while one is multiplied
  large_mma,   ///< the same, but a warp multiplies 16 x 8 by 8 x 8 elements at once
  prefetched,  ///< taller tiles for a warp, and the next numbers are read while it multiplies
};

struct result {
  std::vector<double> c;  ///< m * n elements, row-major
  float kernel_ms = 0;    ///< the time of the kernel alone
};

/// The size of m, n and k that the program has by default on the CPU device.
inline constexpr std::size_t kDefaultSize = 256;

/// The product of two matrices of any shape, in double. Where m or n is 0, C is empty; where k is
/// 0, all elements of C are 0.
///
/// Accuracy: each element is at most (k + 1) * 2^-53 * sum |a * b| from the exact one, to first
/// order (reference.hpp), as if one fused multiply-add followed the other. Whole numbers whose
/// products and sums stay below 2^53 give the exact result.
///
/// Throws lab::invalid_input when a does not have m * k elements or b not k * n, or when C needs
/// more blocks than a grid can have; lab::not_possible when the device has no tensor cores for
/// doubles, which came with compute capability 8.0; lab::cuda_error when CUDA reports an error.
/// None leaves device memory behind.
///
/// Requires: a kernel whose blocks keep tiles of A and B in shared memory, of at least 64 rows of A
/// and 64 columns of B (or all that there are). cuda_cores: no tensor core multiplies. From wmma
/// on, warps multiply on tensor cores, and reading shared memory costs no bank conflicts. From
/// staged on, the copies of the next slice are under way while a slice is multiplied. large_mma and
/// prefetched: a warp multiplies with multiply_add_16x8x8() (given.hpp). No library multiplies.
///
/// From: CUDA C++ Programming Guide, NVIDIA, "Warp Matrix Functions" (double precision), and
/// Parallel Thread Execution ISA, NVIDIA, "Matrix Fragments for mma.m16n8k8 with .f64".
result multiply(step version, std::span<const double> a, std::span<const double> b, shape size);

}  // namespace lab::fp64_product
