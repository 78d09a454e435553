// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.7 commuting_matrices: what commuting_matrices.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "commuting_matrices.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"

namespace lab::commuting_matrices {

/// Element (row, column) of an n x n matrix, and 0 outside of it.
__device__ inline float element(const float* matrix, std::size_t n, std::size_t row,
                                std::size_t column) {
  return row < n && column < n ? matrix[row * n + column] : 0.0F;
}

inline void require_square(const char* name, std::size_t elements, std::size_t n) {
  const bool right = n == 0 ? elements == 0 : elements / n == n && elements % n == 0;
  refuse_if(!right,  // asked by division: n * n may overflow
            "commuting_matrices: ", name, " has ", elements, " elements, and ", n, " x ", n,
            " are needed");
}

/// The two sums of an entry, and the sum of the magnitudes of all products in them.
struct sums {
  float ab, ba, magnitude;
};

}  // namespace lab::commuting_matrices
