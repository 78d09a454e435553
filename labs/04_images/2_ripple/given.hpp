// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 04.2 ripple: what ripple.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <memory>
#include <numbers>
#include <string>
#include <utility>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"
#include "ripple.hpp"

namespace lab::ripple {

inline void require_good(int width, int height) {
  refuse_if(width < 1 || height < 1 || width > kLongestSide || height > kLongestSide,
            "ripple: a picture of ", width, " x ", height,
            " pixels cannot be drawn; a side has 1 to ", kLongestSide);
}

}  // namespace lab::ripple
