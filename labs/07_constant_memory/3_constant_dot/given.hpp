// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 07.3 constant_dot: what constant_dot.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include "constant_dot.hpp"
#include "lab/block_sum.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"
#include "lab/timer.hpp"

namespace lab::constant_dot {

/// The sum of what the blocks stored (given), after the kernels. In double the host adds no error.
inline float sum_of(const device_buffer<float>& partial) {
  const std::vector<float> sums = partial.to_vector();
  return static_cast<float>(std::accumulate(sums.begin(), sums.end(), 0.0));
}

}  // namespace lab::constant_dot
