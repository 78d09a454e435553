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
  return {kMiss, 0};
}

/// The colour that the ray of pixel (x, y) brings back from the `count` spheres of `scene`. (CUDA's
/// uchar4 has four bytes that are stored in one piece: red, green, blue, 255.)
__device__ uchar4 colour_at(const sphere* scene, std::size_t count, int x, int y, int width,
                            int height) {
  const float ox = static_cast<float>(x) - static_cast<float>(width) / 2;
  const float oy = static_cast<float>(y) - static_cast<float>(height) / 2;
  // TODO(2): call hit_of() for each sphere, and remember the depth and the colour of the nearest
  //          hit. Black if there is none.
  return {255, 0, 255, 255};
}

// --- global_memory: the scene is an array like any other -----------------------------------------
// Requires nothing: the scene may be as large as the device's memory.

__global__ void from_global_memory(const sphere* scene, std::size_t count, uchar4* picture,
                                   int width, int height) {
  // TODO(3): the pixel of this thread; neighbouring threads of a warp must have neighbouring x.
  //          Store its colour_at() in picture[y * width + x]. Threads outside
  //          the picture do nothing.
}

float render_from_global_memory(std::span<const sphere> scene, uchar4* picture, int width,
                                int height, dim3 blocks, dim3 threads) {
  // TODO(3): copy the scene to the device, and launch the kernel in time_kernel().
  throw not_written("step global_memory", 1);  // 1, 2 and 3 are this step
}

// --- constant_memory: the scene is in constant memory, which broadcasts reads to a warp ----------
// Requires a scene that fits, in an array whose size the compiler knows; and that all threads of a
// warp read the same sphere at the same time. They do: all of them run the same loop.

__constant__ sphere constant_scene[kMostInConstantMemory];

__global__ void from_constant_memory(std::size_t count, uchar4* picture, int width, int height) {
  // TODO(4): as before, but the scene is constant_scene. It is not an argument.
}

float render_from_constant_memory(std::span<const sphere> scene, uchar4* picture, int width,
                                  int height, dim3 blocks, dim3 threads) {
  // TODO(4): throw invalid_input if not all spheres fit, with both numbers. Copy them to
  //          constant_scene with cudaMemcpyToSymbol, and launch the kernel as in TODO(3).
  throw not_written("step constant_memory", 4);
}

}  // namespace

result render(step version, std::span<const sphere> scene, int width, int height) {
  return host_part_of_render(
      version == step::global_memory ? render_from_global_memory : render_from_constant_memory,
      scene, width, height);
}

}  // namespace lab::ray_tracer
