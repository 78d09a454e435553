// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 07.2 ray_tracer: what ray_tracer.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"
#include "ray_tracer.hpp"

namespace lab::ray_tracer {

inline void require_good(std::span<const sphere> scene, int width, int height) {
  refuse_if(width < 1 || height < 1, "ray_tracer: a picture of ", width, " x ", height,
            " pixels has nothing to show");
  for (std::size_t i = 0; i < scene.size(); ++i) {
    const sphere& ball = scene[i];
    const auto require = [i](bool good, const char* otherwise) {
      refuse_if(!good, "ray_tracer: sphere ", i, otherwise);
    };
    for (const float coordinate : {ball.x, ball.y, ball.z})  // a NaN is not <= anything
      require(std::fabs(coordinate) <= kFarthest, " has a coordinate that is no number up to 1e9");
    require(ball.radius >= kSmallestRadius && ball.radius <= kFarthest,
            " has a radius that is not in 1e-9 to 1e9");
    for (const float part : {ball.r, ball.g, ball.b})
      require(part >= 0 && part <= 1, " has a colour with a part that is not in 0 to 1");
  }
}

inline void require_fits(dim3 grid) {
  int device = 0, most_y = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&most_y, cudaDevAttrMaxGridDimY, device));
  refuse_if(grid.y > static_cast<unsigned>(most_y),  // in x, all widths fit
            "ray_tracer: this picture needs a grid of ", grid.y,
            " rows of blocks, and the device's largest has ", most_y);
}

struct hit {
  float depth;  // kMiss if there is no hit
  float shade;
};

constexpr int kTile = 16;  // a block is kTile x kTile threads, one for each pixel
constexpr float kMiss = -std::numeric_limits<float>::infinity();  // the depth of nothing

/// render(), where `draw` brings the scene to the device, launches, and returns the kernel's time.
inline result host_part_of_render(float (*draw)(std::span<const sphere> scene, uchar4* picture,
                                                int width, int height, dim3 blocks, dim3 threads),
                                  std::span<const sphere> scene, int width, int height) {
  require_good(scene, width, height);
  const dim3 threads(kTile, kTile);
  const dim3 blocks((static_cast<unsigned>(width) + kTile - 1) / kTile,
                    (static_cast<unsigned>(height) + kTile - 1) / kTile);
  require_fits(blocks);

  bitmap picture(width, height);
  device_buffer<uchar4> pixels(picture.pixels().size());
  const float kernel_ms = draw(scene, pixels.data(), width, height, blocks, threads);
  static_assert(sizeof(rgba) == sizeof(uchar4));
  CUDA_CHECK(cudaMemcpy(picture.pixels().data(), pixels.data(), pixels.size_bytes(),
                        cudaMemcpyDeviceToHost));
  return {std::move(picture), kernel_ms};
}

}  // namespace lab::ray_tracer
