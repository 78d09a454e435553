// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 09.1 gl_image: what gl_image.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_gl_interop.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <string>
#include <utility>

#include "gl_image.hpp"
#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"
#include "lab/opengl.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"

namespace lab::gl_image {

/// Given: the contract's colour of pixel (x, y).
__device__ inline uchar4 colour_at(int width, int height, int x, int y) {
  const float fx = static_cast<float>(x) / static_cast<float>(width) - 0.5F;
  const float fy = static_cast<float>(y) / static_cast<float>(height) - 0.5F;
  const float green = 128 + 127 * sinf(fabsf(100 * fx) - fabsf(100 * fy));
  return make_uchar4(0, static_cast<unsigned char>(green),
                     static_cast<unsigned char>(255 * y / height), 255);
}

inline void require_good(int width, int height) {
  refuse_if(width < 1 || height < 1 || width > kLongestSide || height > kLongestSide,
            "gl_image: a picture of ", width, " x ", height,
            " pixels cannot be drawn; a side has 1 to ", kLongestSide);
}

}  // namespace lab::gl_image
