// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The library's time for a matrix product: a mark to compare with.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace lab {

/// What cuBLAS makes of the floats before it multiplies them. It adds the products in float.
enum class library_arithmetic {
  fp32,  ///< nothing: no tensor cores
  tf32,  ///< TF32, on tensor cores
  half,  ///< they are halves already, on tensor cores
};

/// How B is stored.
enum class library_b {
  k_rows,  ///< k rows of n elements
  n_rows,  ///< transposed: n rows of k elements
};

/// The median time of cuBLAS for C(m x n) = A(m x k) B(k x n), row-major and in device memory
/// already. Nothing on the CPU device, where there is no such mark, and for shapes that cuBLAS does
/// not take. Throws invalid_input when a has not m * k elements or b not k * n.
std::optional<float> library_matmul_milliseconds(
    std::span<const float> a, std::span<const float> b, std::size_t m, std::size_t n, std::size_t k,
    library_arithmetic arithmetic = library_arithmetic::fp32, library_b stored = library_b::k_rows);

/// The same in float (fp32), by the fastest of the kernels that cuBLASLt's heuristics propose: all
/// of them are tried, which a program that multiplies often can afford.
std::optional<float> fastest_matmul_milliseconds(std::span<const float> a, std::span<const float> b,
                                                 std::size_t m, std::size_t n, std::size_t k);

/// The same in double, by cublasDgemm.
std::optional<float> library_matmul_milliseconds(std::span<const double> a,
                                                 std::span<const double> b, std::size_t m,
                                                 std::size_t n, std::size_t k);

}  // namespace lab
