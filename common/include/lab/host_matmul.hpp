// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The host's own matrix product: a mark to compare a GPU's with.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace lab {

/// `OpenBLAS` where that library is installed, else `plain loop`. It is looked for once, when it is
/// first asked for.
std::string host_matmul_name();

/// C(m x n) = A(m x k) B(k x n), row-major, by what host_matmul_name() says: OpenBLAS uses all
/// cores, the loop uses one. Throws invalid_input when a, b or c has not as many elements as that.
void host_matmul(std::span<const float> a, std::span<const float> b, std::span<float> c,
                 std::size_t m, std::size_t n, std::size_t k);

}  // namespace lab
