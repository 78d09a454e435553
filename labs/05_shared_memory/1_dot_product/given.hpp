// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.1 dot_product: what dot_product.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
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

}  // namespace lab::dot_product
