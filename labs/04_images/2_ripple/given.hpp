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

/// animate(), where `launch` draws the pond at a tick. The device memory is allocated here, once; a
/// frame launches, and copies. A std::function can be copied and a device_buffer cannot, so the
/// copies share one.
inline frame_callback host_part_of_animate(void (*launch)(int width, int height, int tick,
                                                          uchar4* pixels),
                                           int width, int height) {
  require_good(width, height);
  auto pixels = std::make_shared<device_buffer<uchar4>>(static_cast<std::size_t>(width) *
                                                        static_cast<std::size_t>(height));
  return [pixels, width, height, launch](bitmap& picture, int tick) -> float {
    refuse_if(picture.width() != width || picture.height() != height, "ripple: the picture has ",
              picture.width(), " x ", picture.height(), " pixels, the animation ", width, " x ",
              height);
    const float kernel_ms = time_kernel([&] { launch(width, height, tick, pixels->data()); });
    static_assert(sizeof(rgba) == sizeof(uchar4));  // the same four bytes
    CUDA_CHECK(cudaMemcpy(picture.pixels().data(), pixels->data(), pixels->size_bytes(),
                          cudaMemcpyDeviceToHost));
    return kernel_ms;
  };
}

}  // namespace lab::ripple
