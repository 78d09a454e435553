// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 04.1 julia_set: what julia_set.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <string>

#include "julia_set.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"

namespace lab::julia_set {

inline void require_good(const view& region) {
  refuse_if(region.width < 1 || region.height < 1, "julia_set: a picture of ", region.width, " x ",
            region.height, " pixels has nothing to show");
  refuse_if(region.max_iterations < 1, "julia_set: ", region.max_iterations,
            " iterations say nothing; at least 1 is needed");
  refuse_if(!(region.scale > 0) || !std::isfinite(region.scale),  // a NaN is not > 0
            "julia_set: the scale is ", region.scale, "; it must be a number greater than 0");
  for (const float number : {region.centre_x, region.centre_y, region.c_re, region.c_im})
    refuse_if(!std::isfinite(number), "julia_set: the centre and c must be finite numbers");
}

inline void require_fits(dim3 grid) {
  int device = 0, most_x = 0, most_y = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&most_x, cudaDevAttrMaxGridDimX, device));
  CUDA_CHECK(cudaDeviceGetAttribute(&most_y, cudaDevAttrMaxGridDimY, device));
  refuse_if(grid.x > static_cast<unsigned>(most_x) || grid.y > static_cast<unsigned>(most_y),
            "julia_set: this picture needs a grid of ", grid.x, " x ", grid.y,
            " blocks, and the device's largest is ", most_x, " x ", most_y);
}

/// The number z with which pixel (x, y) starts. (Nothing is contracted to a fused operation here:
/// a division lies between each product and its sum.)
__device__ inline float2 start_of(const view& region, int x, int y) {
  const float half = static_cast<float>(min(region.width, region.height)) / 2;
  const float right = static_cast<float>(region.width) / 2 - static_cast<float>(x);
  const float up = static_cast<float>(region.height) / 2 - static_cast<float>(y);
  return {region.scale * right / half + region.centre_x,
          region.scale * up / half + region.centre_y};
}

using launch_of_step = void (*)(const view& region, int* iterations);

/// compute(), with what launches the kernel of each step.
inline result host_part_of_compute(const std::array<launch_of_step, 2>& launches, step version,
                                   const view& region) {
  require_good(region);
  const launch_of_step launch = launches.at(static_cast<std::size_t>(version));
  device_buffer<int> iterations(static_cast<std::size_t>(region.width) *
                                static_cast<std::size_t>(region.height));
  const float kernel_ms = time_kernel([&] { launch(region, iterations.data()); });
  return {iterations.to_vector(), kernel_ms};
}

}  // namespace lab::julia_set
