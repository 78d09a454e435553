// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 07.2 ray_tracer: a ray for each pixel; the spheres first in global, then in constant memory.
// Edit:  this file, from TODO(1) to TODO(4). ray_tracer.hpp has the formulas.
// Run:   scripts/lab run 07.2 -- --step global_memory     (writes ray_tracer.png)
// Test:  scripts/lab test 07.2
// Hints: scripts/lab hint 07.2             Chapter: docs/07_constant_memory.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::ray_tracer {
namespace {

// --- what one ray needs --------------------------------------------------------------------------

// __fmul_rn, __fadd_rn and __fsub_rn are *, + and - that the compiler never fuses. It may otherwise
// fuse a * b + c into one instruction with one rounding, and some pixels then differ in the last
// bit from the reference. sqrtf and / are correctly rounded on both.
__device__ hit hit_of(const sphere& ball, float ox, float oy) {
  // TODO(1): the depth and the shade where the ray at (ox, oy) hits the sphere; {kMiss, 0} if it
  //          does not. The formulas are in ray_tracer.hpp.
  // BEGIN SOLUTION
  // STUB: return {kMiss, 0};
  const float dx = ox - ball.x;
  const float dy = oy - ball.y;
  const float distance2 = __fadd_rn(__fmul_rn(dx, dx), __fmul_rn(dy, dy));
  const float radius2 = __fmul_rn(ball.radius, ball.radius);
  if (distance2 >= radius2) return {kMiss, 0};
  const float dz = sqrtf(__fsub_rn(radius2, distance2));
  return {dz + ball.z, dz / ball.radius};
  // END SOLUTION
}

/// The colour that the ray of pixel (x, y) brings back from the `count` spheres of `scene`. (CUDA's
/// uchar4 has four bytes that are stored in one piece: red, green, blue, 255.)
__device__ uchar4 colour_at(const sphere* scene, std::size_t count, int x, int y, int width,
                            int height) {
  const float ox = static_cast<float>(x) - static_cast<float>(width) / 2;
  const float oy = static_cast<float>(y) - static_cast<float>(height) / 2;
  // TODO(2): call hit_of() for each sphere, and remember the depth and the colour of the nearest
  //          hit. Black if there is none.
  // BEGIN SOLUTION
  // STUB: return {255, 0, 255, 255};
  float nearest = kMiss;
  float r = 0, g = 0, b = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const hit found = hit_of(scene[i], ox, oy);
    if (found.depth > nearest) {
      nearest = found.depth;
      r = scene[i].r * found.shade;
      g = scene[i].g * found.shade;
      b = scene[i].b * found.shade;
    }
  }
  return {static_cast<unsigned char>(r * 255), static_cast<unsigned char>(g * 255),
          static_cast<unsigned char>(b * 255), 255};
  // END SOLUTION
}

// --- global_memory: the scene is an array like any other -----------------------------------------
// Requires nothing: the scene may be as large as the device's memory.

__global__ void from_global_memory(const sphere* scene, std::size_t count, uchar4* picture,
                                   int width, int height) {
  // TODO(3): the pixel of this thread; neighbouring threads of a warp must have neighbouring x.
  //          Store its colour_at() in picture[y * width + x]. Threads outside
  //          the picture do nothing.
  // BEGIN SOLUTION
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x < width && y < height)
    picture[static_cast<std::size_t>(y) * width + x] = colour_at(scene, count, x, y, width, height);
  // END SOLUTION
}

float render_from_global_memory(std::span<const sphere> scene, uchar4* picture, int width,
                                int height, dim3 blocks, dim3 threads) {
  // TODO(3): copy the scene to the device, and launch the kernel in time_kernel().
  // BEGIN SOLUTION
  // STUB: throw not_written("step global_memory", 1);  // 1, 2 and 3 are this step
  const device_buffer spheres(scene);
  return time_kernel([&] {
    from_global_memory<<<blocks, threads>>>(spheres.data(), scene.size(), picture, width, height);
  });
  // END SOLUTION
}

// --- constant_memory: the scene is in constant memory, which broadcasts reads to a warp ----------
// Requires a scene that fits, in an array whose size the compiler knows; and that all threads of a
// warp read the same sphere at the same time. They do: all of them run the same loop.

__constant__ sphere constant_scene[kMostInConstantMemory];

__global__ void from_constant_memory(std::size_t count, uchar4* picture, int width, int height) {
  // TODO(4): as before, but the scene is constant_scene. It is not an argument.
  // BEGIN SOLUTION
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x < width && y < height)
    picture[static_cast<std::size_t>(y) * width + x] =
        colour_at(constant_scene, count, x, y, width, height);
  // END SOLUTION
}

float render_from_constant_memory(std::span<const sphere> scene, uchar4* picture, int width,
                                  int height, dim3 blocks, dim3 threads) {
  // TODO(4): throw invalid_input if not all spheres fit, with both numbers. Copy them to
  //          constant_scene with cudaMemcpyToSymbol, and launch the kernel as in TODO(3).
  // BEGIN SOLUTION
  // STUB: throw not_written("step constant_memory", 4);
  if (scene.size() > kMostInConstantMemory)
    throw invalid_input("ray_tracer: " + std::to_string(scene.size()) +
                        " spheres are more than the " + std::to_string(kMostInConstantMemory) +
                        " that constant memory holds; step global_memory has no such limit");
  if (!scene.empty())
    CUDA_CHECK(cudaMemcpyToSymbol(constant_scene, scene.data(), scene.size_bytes()));
  return time_kernel(
      [&] { from_constant_memory<<<blocks, threads>>>(scene.size(), picture, width, height); });
  // END SOLUTION
}

}  // namespace

result render(step version, std::span<const sphere> scene, int width, int height) {
  return host_part_of_render(
      version == step::global_memory ? render_from_global_memory : render_from_constant_memory,
      scene, width, height);
}

}  // namespace lab::ray_tracer
