// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.1 dot_product: what dot_product.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "dot_product.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"

namespace lab::dot_product {

/// How many blocks of `threads` threads n elements need, but not more than `most`.
inline unsigned blocks_for(std::size_t n, unsigned threads, std::size_t most) {
  return static_cast<unsigned>(std::min((n + threads - 1) / threads, most));
}

using kernel_of_dot = void (*)(const float* a, const float* b, float* partial, std::size_t n);

struct grid {
  unsigned blocks;
  unsigned threads;          // in a block: a power of two, or sum_of_block() forgets some
  std::size_t shared_bytes;  // dynamic shared memory of a block
};

inline void require_good(std::span<const float> a, std::span<const float> b) {
  refuse_if(a.size() != b.size(), "dot_product: a has ", a.size(), " elements and b has ", b.size(),
            "; they must be equally long");
}

}  // namespace lab::dot_product
