// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 07.2 ray_tracer: the program.

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <numbers>

#include "lab/command_line.hpp"
#include "ray_tracer.hpp"
#include "reference.hpp"
#include "scene.hpp"

int main(int argc, char** argv) {
  using lab::ray_tracer::step;
  constexpr int kDelayMs = 50;       // 20 frames a second
  constexpr int kFramesATurn = 240;  // in the window

  lab::program program("07.2_ray_tracer",
                       "Draws spheres that are in global or in constant memory.");
  std::size_t spheres = lab::ray_tracer::kDefaultSpheres;
  int width = lab::ray_tracer::kDefaultSize, height = width;
  program.add_size("--spheres", spheres, "in the scene; constant memory holds 2340");
  program.add_number("--width", width, "of the picture, in pixels").at_least(1);
  program.add_number("--height", height, "of the picture, in pixels").at_least(1);
  const auto& chosen_step = program.add_step<step>(
      {{"global_memory", step::global_memory, "the spheres are an ordinary array"},
       {"constant_memory", step::constant_memory, "the spheres are a __constant__ array"}},
      step::constant_memory);
  program.add_animation_options(1, "ray_tracer.png");

  return program.run(argc, argv, [&] {
    const auto pixels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
    const std::size_t scene_bytes = spheres * sizeof(lab::ray_tracer::sphere);
    program.require_memory(4 * pixels * sizeof(lab::rgba) + scene_bytes,
                           pixels * sizeof(lab::rgba) + scene_bytes);
    const auto scene = lab::ray_tracer::random_scene(spheres, program.seed());
    const auto result = lab::ray_tracer::render(chosen_step, scene, width, height);
    const auto black = std::ranges::count(result.picture.pixels(), lab::rgba{});
    std::printf("step %s: %zu spheres (%zu bytes), %d x %d pixels\n", program.step_name().c_str(),
                spheres, scene_bytes, width, height);
    std::printf("%.2f %% of the pixels show no sphere\n",
                100.0 * static_cast<double>(black) / static_cast<double>(pixels));

    const bool right = program.verdict(
        lab::compare_exact(result.picture, lab::ray_tracer::reference(scene, width, height)));
    // A wrong picture is worth seeing too: it often shows what is wrong.
    // In an animation the spheres go once round the middle.
    const int frames_a_turn = program.frames() > 1 ? program.frames() : kFramesATurn;
    program.emit_frames(width, height, kDelayMs, [&](lab::bitmap& picture, int frame) {
      if (frame == 0) {
        picture = result.picture;
        return;
      }
      const float angle = 2 * std::numbers::pi_v<float> * static_cast<float>(frame) /
                          static_cast<float>(frames_a_turn);
      picture =
          lab::ray_tracer::render(chosen_step, lab::ray_tracer::turned(scene, angle), width, height)
              .picture;
    });
    if (!right) return false;
    program.report_kernel(
        [&] { return lab::ray_tracer::render(chosen_step, scene, width, height).kernel_ms; },
        {.items = static_cast<double>(pixels), .item_name = "pixels"});
    return true;
  });
}
