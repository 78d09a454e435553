// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Matrices of any size whose product is known without multiplying them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lab {

/// A (m x k), B (k x n) and C = A · B (m x n), row-major.
struct known_product {
  std::vector<float> a, b, c;
};

/// With random whole numbers p, q, r and s from -8 to 8,
///
///     A[row][i] = p[row] + q[i],   B[i][column] = r[i] + s[column]:
///     C[row][column] = p[row] · Σr + k · p[row] · s[column] + Σqr + s[column] · Σq
///
/// Neither matrix is symmetric, no two rows or columns are interchangeable, and every i counts. No
/// product is larger than 256, so all sums are exact in floats while 256 · k <= 2^24. Throws
/// invalid_input for a larger k.
known_product make_known_product(std::size_t m, std::size_t n, std::size_t k, std::uint64_t seed);

}  // namespace lab
