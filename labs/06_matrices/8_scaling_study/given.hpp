// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.8 scaling_study: what scaling_study.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

#include "lab/closeness.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/report.hpp"
#include "lab/require_matrix.hpp"
#include "lab/timer.hpp"
#include "scaling_study.hpp"

namespace lab::scaling_study {

/// Element (row, column) of a matrix, and 0 outside of it.
__device__ inline float element(const float* matrix, std::size_t rows, std::size_t columns,
                                std::size_t row, std::size_t column) {
  return row < rows && column < columns ? matrix[row * columns + column] : 0.0F;
}

inline void require_sensible(const problem& product) {
  const auto [m, n, k] = product.size;
  refuse_if(m == 0 || n == 0 || k == 0,
            "scaling_study: a product with m, n or k = 0 has no operations to count");
  refuse_if(!is_product(product.a.size(), m, k) || !is_product(product.b.size(), k, n) ||
                !is_product(product.c.size(), m, n),
            "scaling_study: a, b or c is not as long as the problem's size says");
  int device = 0, limit = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxGridDimY, device));
  refuse_if(m > static_cast<std::size_t>(limit) * kBlocks[0],
            "scaling_study: a grid of the smallest blocks has at most ", limit,
            " rows of blocks, too few for ", m, " rows");
}

inline void require_sensible(unsigned block) {
  refuse_if(std::find(std::begin(kBlocks), std::end(kBlocks), block) == std::end(kBlocks),
            "scaling_study: blocks of ", block, " x ", block,
            " threads are not measured; take 4, 8, 16 or 32");
}

inline void require_sensible(plan options) {
  refuse_if(options.samples == 0, "scaling_study: a row without samples has no time");
  refuse_if(!(options.sample_ms >= 0 && options.sample_ms <= 1000),
            "scaling_study: the least time of a sample must be from 0 to 1000 ms");
}

/// What cannot be measured is refused before anything is.
inline void require_sensible(std::span<const problem> problems, std::span<const unsigned> blocks,
                             plan options) {
  for (const problem& each : problems) require_sensible(each);
  for (const unsigned each : blocks) require_sensible(each);
  require_sensible(options);
}

/// A problem's matrices in device memory. c is not written yet.
struct on_device {
  explicit on_device(const problem& product)
      : size(product.size), a(product.a), b(product.b), c(product.c.size()) {}
  shape size;
  device_buffer<float> a, b, c;
};

}  // namespace lab::scaling_study
