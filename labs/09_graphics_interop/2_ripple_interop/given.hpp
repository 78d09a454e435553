// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 09.2 ripple_interop: what ripple_interop.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <memory>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/opengl.hpp"
#include "lab/opengl_mapping.hpp"
#include "lab/refuse_if.hpp"
#include "lab/timer.hpp"
#include "ripple_interop.hpp"

namespace lab::ripple_interop {

__device__ inline unsigned char grey_at(int width, int height, float phase, int x, int y) {
  const float dx = static_cast<float>(x) - static_cast<float>(width) / 2;
  const float dy = static_cast<float>(y) - static_cast<float>(height) / 2;
  const float u = sqrtf(dx * dx + dy * dy) / 10;
  return static_cast<unsigned char>(128 + 127 * cosf(u - phase) / (u + 1));
}

inline void require_good(int width, int height) {
  refuse_if(width < 1 || height < 1 || width > kLongestSide || height > kLongestSide,
            "ripple_interop: a picture of ", width, " x ", height,
            " pixels cannot be drawn; a side has 1 to ", kLongestSide);
}

}  // namespace lab::ripple_interop
