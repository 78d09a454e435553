// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 07.2 ray_tracer: the contract. What the program and the tests expect of ray_tracer.cu.
#pragma once

#include <cstddef>
#include <span>

#include "lab/bitmap.hpp"

namespace lab::ray_tracer {

/// Width and height of the program's picture, and its spheres, unless it is told otherwise.
inline constexpr int kDefaultSize = 1024;
inline constexpr std::size_t kDefaultSpheres = 20;

// No default values: a variable in constant memory must not need a constructor.
struct sphere {
  float x, y, z;  ///< the centre, in pixels; the camera looks from above, from z = infinity
  float radius;
  float r, g, b;  ///< the colour, 0 to 1 each
};

enum class step {
  global_memory,    ///< the spheres are in device memory, like any other array
  constant_memory,  ///< the spheres are in a __constant__ array
};

struct result {
  bitmap picture;
  float kernel_ms = 0;  ///< the time of the kernel alone
};

/// A GPU has 64 KiB of constant memory. So many spheres fit.
inline constexpr std::size_t kMostInConstantMemory = 64 * 1024 / sizeof(sphere);

/// No coordinate and no radius may be larger than this, and no radius smaller than the other: so no
/// square is too large or too small for a float.
inline constexpr float kFarthest = 1e9F;
inline constexpr float kSmallestRadius = 1e-9F;

/// The picture of the spheres, with one ray for each pixel. The rays are parallel to the z axis,
/// and that of pixel (x, y) stands at
///
///     ox = x - width / 2,  oy = y - height / 2         (a real division, not a whole one)
///
/// It hits a sphere if the squared distance d2 from the centre's (x, y) is less than the squared
/// radius, and then
///
///     d2    = (ox - sphere.x) * (ox - sphere.x) + (oy - sphere.y) * (oy - sphere.y)
///     dz    = sqrt(radius * radius - d2)                how far above the centre
///     depth = dz + sphere.z                             the larger, the nearer to the camera
///     shade = dz / radius                               1 in the middle, towards 0 at the rim
///
/// The pixel shows the sphere with the largest depth, and of equally near ones the first: each part
/// of its colour is colour * shade * 255, without its fraction. Where no sphere is hit the pixel is
/// black. All pixels are opaque. Every operation is rounded to float on its own, in the order in
/// which it is written here, so that the picture is the same on every device: see "One rounding or
/// two" in chapter 04.
///
/// An empty scene is a black picture.
///
/// Throws lab::invalid_input when width or height is less than 1 or the picture is larger than the
/// device's grid, when a coordinate is beyond kFarthest, a radius is not in kSmallestRadius to
/// kFarthest, a part of a colour is not in 0 to 1 (or any of them is no number), and when a scene
/// for constant_memory has more than kMostInConstantMemory spheres; lab::cuda_error when CUDA
/// reports an error. Neither leaves device memory behind.
///
/// Requires: a kernel with a thread for each pixel, which reads the spheres from an array in device
/// memory, or from a `__constant__` one.
///
/// From: J. Sanders, E. Kandrot, CUDA by Example, 6.2 and 6.3.
result render(step version, std::span<const sphere> scene, int width, int height);

}  // namespace lab::ray_tracer
