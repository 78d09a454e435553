// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The library's time for a matrix product: a mark to compare with.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace lab {

/// The median time of cuBLAS for C(m x n) = A(m x k) B(k x n), row-major and in device memory
/// already, in plain FP32: no TF32, no tensor cores. Nothing on the CPU device, where there is no
/// such mark, and for shapes that cublasSgemm does not take. Throws invalid_input when a has not
/// m * k elements or b not k * n.
std::optional<float> library_matmul_milliseconds(std::span<const float> a, std::span<const float> b,
                                                 std::size_t m, std::size_t n, std::size_t k);

}  // namespace lab
