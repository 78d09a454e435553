// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 18.4 split_product: the contract. What the program and the tests expect of split_product.cu.
//
// Needs compute capability 8.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab::split_product {

/// C = A · B, where A has m rows and k columns, B has k rows and n columns, C has m rows and n
/// columns. All are row-major: the element in row r and column c of A is a[r * k + c].
struct shape {
  std::size_t m = 0;
  std::size_t n = 0;
  std::size_t k = 0;
};

/// One idea each, in the order in which they are written.
enum class step {
  one_product,     ///< each float is rounded to one bfloat16, and these are multiplied
  three_products,  ///< each becomes two pieces, and three products of pieces are added
  six_products,    ///< each becomes three, exactly, and six products are added: float accuracy
};

struct result {
  std::vector<float> c;  ///< m * n elements, row-major
  float kernel_ms = 0;   ///< the time of all kernels: of the splitting, too
};

/// The size of m, n and k that the program has by default on the CPU device.
inline constexpr std::size_t kDefaultSize = 256;
inline constexpr std::size_t kMostK = std::size_t{1} << 24;

/// The product of two matrices of floats of any shape, on tensor cores, by products of pieces in
/// bfloat16. Where m or n is 0, C is empty; where k is 0, all elements of C are 0.
///
/// Accuracy: with u = 2^-24 and S = sum |a * b|, an element of C is at most
///
///     one_product      (131329 + 50 + k / 16) * u * S
///     three_products      (775 + 50 + k / 16) * u * S
///     six_products          (3 + 50 + k / 16) * u * S
///
/// from the exact one, k / 16 rounded up (reference.hpp), and in every step another 2^-149, and
/// k * 2^-175 times the largest element of the row of A and the largest of the column of B. That
/// holds for all finite elements, the largest, the smallest and subnormal ones, in any mixture. An
/// exact element that is too large for a float becomes an infinity.
///
/// Infinities and NaN: an element whose row of A or column of B has any is NaN if a NaN, infinity
/// times 0, or infinities of both signs are among its products, and else the infinity that is among
/// them. They do not touch other elements.
///
/// Throws lab::invalid_input when a does not have m * k elements or b not k * n, or when k is
/// larger than 2^24; lab::not_possible when the device has no tensor cores for bfloat16, which came
/// with compute capability 8.0; lab::cuda_error when CUDA reports an error. None leaves device
/// memory behind.
///
/// Requires: a kernel whose warps form all 1, 3 or 6 products of pieces on tensor cores, from tiles
/// in shared memory, and add them up for 16 elements of k at a time, the smallest ones first. What
/// these give is added to the sum by additions in float outside of the tensor cores. No library
/// multiplies.
///
/// From: Henry, Tang and Heinecke, "Leveraging the bfloat16 Artificial Intelligence Datatype For
/// Higher-Precision Computations", ARITH 2019 (the pieces and their products); Ootomo and Yokota,
/// "Recovering single precision accuracy from Tensor Cores while surpassing the FP32 theoretical
/// peak performance", IJHPCA 2022 (adding outside, to the nearest). cuBLAS's documentation,
/// "Floating Point Emulation", describes a relative, with nine products.
result multiply(step version, std::span<const float> a, std::span<const float> b, shape size);

}  // namespace lab::split_product
