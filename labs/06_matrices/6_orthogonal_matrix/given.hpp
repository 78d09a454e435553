// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.6 orthogonal_matrix: what orthogonal_matrix.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"
#include "orthogonal_matrix.hpp"

namespace lab::orthogonal_matrix {

/// An entry of A · Aᵀ: how far it is from the identity's, and where it stands.
struct candidate {
  float deviation;
  std::size_t index;  // row * n + column
};

/// The candidate of a thread that has no entry: every real entry is farther from the identity.
__device__ inline candidate nobody() { return {-1.0F, 0}; }

/// The one of the two that is farther from the identity; of equals, the one that comes first.
__host__ __device__ inline candidate farther(const candidate& a, const candidate& b) {
  if (a.deviation != b.deviation) return a.deviation > b.deviation ? a : b;
  return a.index < b.index ? a : b;
}

/// Element (row, column) of A, and 0 outside of it.
__device__ inline float element(const float* a, std::size_t n, std::size_t row,
                                std::size_t column) {
  return row < n && column < n ? a[row * n + column] : 0.0F;
}

inline void require_good(std::span<const float> a, std::size_t rows, std::size_t columns) {
  refuse_if(rows != columns, "orthogonal_matrix: a matrix with ", rows, " rows and ", columns,
            " columns is not square");
  const std::size_t n = rows;
  refuse_if(n == 0 ? !a.empty() : a.size() / n != n || a.size() % n != 0,  // n * n may overflow
            "orthogonal_matrix: A has ", a.size(), " elements, and ", n, " x ", n, " are needed");
}

}  // namespace lab::orthogonal_matrix
