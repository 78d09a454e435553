// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 07.2 ray_tracer: what there is to see (given).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lab/random.hpp"
#include "ray_tracer.hpp"

namespace lab::ray_tracer {

/// The book's spheres: of any colour, with a centre in -500 to 500 in each direction, and a radius
/// of 20 to 120. The book took them from rand(), which differs from system to system; the same seed
/// gives the same spheres everywhere.
inline std::vector<sphere> random_scene(std::size_t count, std::uint64_t seed) {
  random_source random(seed);
  std::vector<sphere> scene(count);
  for (sphere& ball : scene) {
    ball.r = random.real(0, 1);
    ball.g = random.real(0, 1);
    ball.b = random.real(0, 1);
    ball.x = random.real(-500, 500);
    ball.y = random.real(-500, 500);
    ball.z = random.real(-500, 500);
    ball.radius = random.real(20, 120);
  }
  return scene;
}

/// The same spheres, turned round the vertical axis by an angle in radians: a carousel.
inline std::vector<sphere> turned(std::span<const sphere> scene, float angle) {
  std::vector<sphere> result(scene.begin(), scene.end());
  for (sphere& ball : result) {
    const float x = ball.x, z = ball.z;
    ball.x = x * std::cos(angle) + z * std::sin(angle);
    ball.z = z * std::cos(angle) - x * std::sin(angle);
  }
  return result;
}

}  // namespace lab::ray_tracer
