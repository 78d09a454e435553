// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.4 mixed_precision_dot: what mixed_precision_dot.cu starts from. There is nothing to do in
// here.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>

#include "lab/cublas_check.hpp"
#include "lab/cublas_handle.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"
#include "mixed_precision_dot.hpp"

namespace lab::mixed_precision_dot {

inline int common_length(std::span<const float> x, std::span<const float> y) {
  refuse_if(x.size() != y.size(), "mixed_precision_dot: x has ", x.size(), " elements and y has ",
            y.size(), "; they must be equally long");
  refuse_if(x.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()),
            "mixed_precision_dot: ", x.size(), " elements are more than an int can count");
  return static_cast<int>(x.size());
}

}  // namespace lab::mixed_precision_dot
