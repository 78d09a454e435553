// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The library's time for a matrix product in double: a mark to compare with.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace lab {

/// The median time of cublasDgemm for C(m x n) = A(m x k) B(k x n), row-major and in device memory
/// already. Nothing on the CPU device, where there is no such mark, and for shapes that cublasDgemm
/// does not take. Throws invalid_input when a has not m * k elements or b not k * n.
std::optional<float> library_dgemm_milliseconds(std::span<const double> a,
                                                std::span<const double> b, std::size_t m,
                                                std::size_t n, std::size_t k);

}  // namespace lab
