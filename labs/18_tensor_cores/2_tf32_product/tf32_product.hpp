// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 18.2 tf32_product: the contract. What the program and the tests expect of tf32_product.cu.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab::tf32_product {

/// C = A · Bᵀ, where A has m rows and k columns, B has n rows and k columns, C has m rows and n
/// columns. All are row-major: the element in row r and column c of A is a[r * k + c]. So both
/// factors have the elements that are multiplied with each other side by side, which is the only
/// layout that the instructions of step wgmma take for TF32.
struct shape {
  std::size_t m = 0;
  std::size_t n = 0;
  std::size_t k = 0;
};

/// One idea each, in the order in which they are written.
enum class step {
  wmma,    ///< tiles are rounded on their way to shared memory; warps multiply fragments
  staged,  ///< asynchronous copies fetch the next slices meanwhile; fragments are rounded
  wgmma,   ///< a warp has whole tiles copied, and four warps multiply them in shared memory
};

struct result {
  std::vector<float> c;  ///< m * n elements, row-major
  float kernel_ms = 0;   ///< the time of the kernel alone
};

/// The size of m, n and k that the program has by default on the CPU device.
inline constexpr std::size_t kDefaultSize = 256;

/// The product of two matrices of any shape, with TF32 for the factors: every element of A and B is
/// rounded to the nearest number with 11 bits of precision and the exponents of a float. (Where two
/// are equally near, wmma and staged take the larger one in size, wgmma the even one.) A NaN stays
/// one, whatever its bits. The products are exact, and are added in float. Where m or n is 0, C is
/// empty; where k is 0, all elements of C are 0.
///
/// Accuracy: each element is at most error_bound() (reference.hpp) from the exact product of the
/// matrices as they are given. Whole numbers of at most 2048, whose sums stay below 2^24, give the
/// exact result.
///
/// Throws lab::invalid_input when a does not have m * k elements or b not n * k, when the current
/// device has no TF32 (before compute capability 8.0) or, for wgmma, is not one of compute
/// capability 9.0, or when m, n or k is too large for the grid or a tensor map;
/// lab::cuda_error when CUDA reports an error. Neither leaves device memory behind.
///
/// Requires: a kernel whose blocks share C, and whose warps multiply on tensor cores. A block keeps
/// tiles of A and B in shared memory, of at least 64 rows each (or all that there are), and loads
/// 16 bytes at a time. In staged, threads copy them asynchronously, each waits for its own copies,
/// and they have started those of two more slices while they multiply one. In wgmma, they come by
/// bulk copies, and no thread loads them from global memory. No library multiplies.
///
/// From: CUDA C++ Programming Guide, NVIDIA, "Warp Matrix Functions" and "Asynchronous Data Copies
/// using the Tensor Memory Accelerator"; PTX ISA, NVIDIA, "Asynchronous Warpgroup Level Matrix
/// Multiply-Accumulate Instructions". That some warps only copy and others only multiply is known
/// from CUTLASS, NVIDIA.
result multiply(step version, std::span<const float> a, std::span<const float> b, shape size);

}  // namespace lab::tf32_product
