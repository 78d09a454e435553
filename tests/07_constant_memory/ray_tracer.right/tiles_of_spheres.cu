// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: a linear grid; the spheres of global memory go through shared memory
// in tiles; those in constant memory are tested from the last to the first.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::ray_tracer {
namespace {

constexpr unsigned kBlock = 192;

struct ray {
  float ox, oy;
  float depth = kMiss;
  float shade = 0, r = 0, g = 0, b = 0;
};

__device__ ray ray_of(std::size_t pixel, int width, int height) {
  const auto x = static_cast<float>(pixel % static_cast<std::size_t>(width));
  const auto y = static_cast<float>(pixel / static_cast<std::size_t>(width));
  ray mine;
  mine.ox = x - static_cast<float>(width) * 0.5F;
  mine.oy = y - static_cast<float>(height) * 0.5F;
  return mine;
}

template <bool kForwards>
__device__ void meet(ray& mine, const sphere& ball) {
  const float dx = __fsub_rn(mine.ox, ball.x), dy = __fsub_rn(mine.oy, ball.y);
  const float d2 = __fadd_rn(__fmul_rn(dx, dx), __fmul_rn(dy, dy));
  const float left = __fsub_rn(__fmul_rn(ball.radius, ball.radius), d2);
  if (left <= 0) return;
  const float dz = __fsqrt_rn(left), depth = __fadd_rn(dz, ball.z);
  if (kForwards ? depth <= mine.depth : depth < mine.depth) return;
  mine.depth = depth;
  mine.shade = __fdiv_rn(dz, ball.radius);
  mine.r = ball.r, mine.g = ball.g, mine.b = ball.b;
}

__device__ uchar4 colour_of(const ray& mine) {
  const auto byte = [&](float part) {
    return static_cast<unsigned char>(__fmul_rn(__fmul_rn(part, mine.shade), 255.0F));
  };
  return {byte(mine.r), byte(mine.g), byte(mine.b), 255};
}

__global__ void by_tiles(const sphere* scene, std::size_t count, uchar4* picture, int width,
                         int height) {
  __shared__ sphere tile[kBlock];
  const std::size_t pixels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  const std::size_t pixel = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  ray mine = ray_of(pixel, width, height);
  for (std::size_t first = 0; first < count; first += kBlock) {
    const unsigned here = static_cast<unsigned>(count - first < kBlock ? count - first : kBlock);
    __syncthreads();
    if (threadIdx.x < here) tile[threadIdx.x] = scene[first + threadIdx.x];
    __syncthreads();
    for (unsigned i = 0; i < here; ++i) meet<true>(mine, tile[i]);
  }
  if (pixel < pixels) picture[pixel] = colour_of(mine);
}

__constant__ sphere table[kMostInConstantMemory];

__global__ void from_the_last(int count, uchar4* picture, int width, int height) {
  const std::size_t pixels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  const std::size_t pixel = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (pixel >= pixels) return;
  ray mine = ray_of(pixel, width, height);
  for (int i = count - 1; i >= 0; --i) meet<false>(mine, table[i]);
  picture[pixel] = colour_of(mine);
}

unsigned blocks_for(int width, int height) {
  const std::size_t pixels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  return static_cast<unsigned>((pixels + kBlock - 1) / kBlock);
}

float global(std::span<const sphere> scene, uchar4* picture, int width, int height, dim3, dim3) {
  device_buffer<sphere> spheres(scene.size());
  spheres.copy_from(scene);
  const unsigned blocks = blocks_for(width, height);
  return time_kernel([&] {
    by_tiles<<<blocks, kBlock>>>(spheres.data(), spheres.size(), picture, width, height);
  });
}

float constant(std::span<const sphere> scene, uchar4* picture, int width, int height, dim3, dim3) {
  if (scene.size() > kMostInConstantMemory)
    throw invalid_input("ray_tracer: " + std::to_string(scene.size()) + " spheres, and at most " +
                        std::to_string(kMostInConstantMemory) + " fit into constant memory");
  if (!scene.empty())
    CUDA_CHECK(cudaMemcpyToSymbolAsync(table, scene.data(), scene.size_bytes(), 0,
                                       cudaMemcpyHostToDevice, nullptr));
  const unsigned blocks = blocks_for(width, height);
  return time_kernel([&] {
    from_the_last<<<blocks, kBlock>>>(static_cast<int>(scene.size()), picture, width, height);
  });
}

}  // namespace

result render(step version, std::span<const sphere> scene, int width, int height) {
  return host_part_of_render(version == step::global_memory ? global : constant, scene, width,
                             height);
}

}  // namespace lab::ray_tracer
