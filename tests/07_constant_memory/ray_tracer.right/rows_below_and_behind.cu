// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: in global memory blocks of eight rows, so that the grid is too small
// for pictures that others can draw; in constant memory blocks of one row, which continue in the
// grid's z, so that it never is.

#include <cuda_runtime.h>

#include <algorithm>

#include "given.hpp"

namespace lab::ray_tracer {
namespace {

constexpr unsigned kColumns = 32, kRows = 8, kRowsInY = 32768;

__constant__ sphere constant_scene[kMostInConstantMemory];

__device__ uchar4 seen_from(const sphere* scene, std::size_t count, float ox, float oy) {
  float deepest = kMiss, shade = 0;
  const sphere* nearest = nullptr;
  for (const sphere* ball = scene; ball != scene + count; ++ball) {
    const float dx = __fsub_rn(ox, ball->x), dy = __fsub_rn(oy, ball->y);
    const float d2 = __fadd_rn(__fmul_rn(dx, dx), __fmul_rn(dy, dy));
    const float r2 = __fmul_rn(ball->radius, ball->radius);
    if (d2 >= r2) continue;
    const float dz = __fsqrt_rn(__fsub_rn(r2, d2)), depth = __fadd_rn(dz, ball->z);
    if (depth <= deepest) continue;
    deepest = depth;
    shade = __fdiv_rn(dz, ball->radius);
    nearest = ball;
  }
  if (nearest == nullptr) return make_uchar4(0, 0, 0, 255);
  const auto byte = [&](float part) {
    return static_cast<unsigned char>(__fmul_rn(__fmul_rn(part, shade), 255));
  };
  return make_uchar4(byte(nearest->r), byte(nearest->g), byte(nearest->b), 255);
}

__device__ void draw(const sphere* scene, std::size_t count, uchar4* picture, unsigned width,
                     unsigned height, unsigned y) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x < width && y < height)
    picture[static_cast<std::size_t>(y) * width + x] =
        seen_from(scene, count, static_cast<float>(x) - static_cast<float>(width) / 2,
                  static_cast<float>(y) - static_cast<float>(height) / 2);
}

__global__ void eight_rows(const sphere* scene, std::size_t count, uchar4* picture, unsigned width,
                           unsigned height) {
  draw(scene, count, picture, width, height, blockIdx.y * kRows + threadIdx.y);
}

__global__ void one_row(std::size_t count, uchar4* picture, unsigned width, unsigned height) {
  draw(constant_scene, count, picture, width, height, blockIdx.z * kRowsInY + blockIdx.y);
}

}  // namespace

result render(step version, std::span<const sphere> scene, int width, int height) {
  require_good(scene, width, height);
  const auto wide = static_cast<unsigned>(width), high = static_cast<unsigned>(height);
  const bool constant = version == step::constant_memory;
  dim3 blocks((wide + kColumns - 1) / kColumns, (high + kRows - 1) / kRows);
  if (constant) blocks = dim3(blocks.x, std::min(high, kRowsInY), (high + kRowsInY - 1) / kRowsInY);
  require_fits(blocks);
  refuse_if(constant && scene.size() > kMostInConstantMemory, "ray_tracer: of ", scene.size(),
            " spheres, constant memory holds ", kMostInConstantMemory);

  bitmap picture(width, height);
  device_buffer<uchar4> pixels(picture.pixels().size());
  device_buffer<sphere> spheres;
  if (!constant)
    spheres = device_buffer<sphere>(scene);
  else if (!scene.empty())
    CUDA_CHECK(cudaMemcpyToSymbol(constant_scene, scene.data(), scene.size_bytes()));
  const float kernel_ms = time_kernel([&] {
    if (constant)
      one_row<<<blocks, kColumns>>>(scene.size(), pixels.data(), wide, high);
    else
      eight_rows<<<blocks, dim3(kColumns, kRows)>>>(spheres.data(), scene.size(), pixels.data(),
                                                    wide, high);
  });
  CUDA_CHECK(cudaMemcpy(picture.pixels().data(), pixels.data(), pixels.size_bytes(),
                        cudaMemcpyDeviceToHost));
  return {std::move(picture), kernel_ms};
}

}  // namespace lab::ray_tracer
