// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 04.1 julia_set: the program.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <numbers>

#include "julia_set.hpp"
#include "lab/command_line.hpp"
#include "palette.hpp"
#include "reference.hpp"

int main(int argc, char** argv) {
  using lab::julia_set::palette;
  using lab::julia_set::step;
  constexpr int kDelayMs = 50;       // 20 frames a second
  constexpr int kFramesATurn = 240;  // in the window

  lab::program program("04.1_julia_set",
                       "Draws a Julia set: the points that z -> z * z + c keeps.");
  lab::julia_set::view view;
  program.add_number("--width", view.width, "of the picture, in pixels");
  program.add_number("--height", view.height, "of the picture, in pixels");
  program.add_number("--centre-x", view.centre_x, "real part of the picture's centre");
  program.add_number("--centre-y", view.centre_y, "imaginary part of the picture's centre");
  program.add_number("--scale", view.scale, "from the centre to the nearer edges");
  program.add_number("--c-re", view.c_re, "real part of c");
  program.add_number("--c-im", view.c_im, "imaginary part of c");
  program.add_number("--iterations", view.max_iterations, "at most, for a pixel");
  const auto& colours = program.add_choice<palette>(
      "--palette",
      {{"ember", palette::ember, "from night through fire to white"},
       {"lagoon", palette::lagoon, "from deep water to sand"},
       {"classic", palette::classic, "the book's: the set is red, all else black"}},
      palette::ember, "colours of the picture");
  const auto& chosen_step = program.add_step<step>(
      {{"one_thread_per_block", step::one_thread_per_block, "a block of one thread for a pixel"},
       {"blocks_16x16", step::blocks_16x16, "blocks of 16 x 16 threads"}},
      step::blocks_16x16);
  program.add_animation_options(1, "julia_set.png");

  return program.run(argc, argv, [&] {
    // A count for each pixel on the device; two and a colour on the host. (compute() refuses
    // sizes below 1.)
    const auto pixels = static_cast<std::size_t>(std::max(view.width, 0)) *
                        static_cast<std::size_t>(std::max(view.height, 0));
    program.require_memory(pixels * (2 * sizeof(int) + sizeof(lab::rgba)), pixels * sizeof(int));
    const auto result = lab::julia_set::compute(chosen_step, view);
    const auto members = std::ranges::count(result.iterations, view.max_iterations);
    std::printf("step %s: %d x %d pixels, c = %g%+gi, at most %d iterations\n",
                program.step_name().c_str(), view.width, view.height,
                static_cast<double>(view.c_re), static_cast<double>(view.c_im),
                view.max_iterations);
    std::printf(
        "%td pixels (%.2f %%) never escaped\n", members,
        100.0 * static_cast<double>(members) / static_cast<double>(result.iterations.size()));

    const bool right =
        program.verdict(lab::julia_set::compare_with_reference(view, result.iterations));
    // A wrong picture is worth seeing too: it often shows what is wrong.
    // Each c has a set of its own: in an animation c goes once round the circle that it lies on.
    const int frames_a_turn = program.frames() > 1 ? program.frames() : kFramesATurn;
    program.emit_frames(view.width, view.height, kDelayMs, [&](lab::bitmap& picture, int frame) {
      if (frame == 0) {
        picture = lab::julia_set::draw(view, result.iterations, colours);
        return;
      }
      const float angle = 2 * std::numbers::pi_v<float> * static_cast<float>(frame) /
                          static_cast<float>(frames_a_turn);
      lab::julia_set::view turned = view;
      turned.c_re = view.c_re * std::cos(angle) - view.c_im * std::sin(angle);
      turned.c_im = view.c_re * std::sin(angle) + view.c_im * std::cos(angle);
      picture = lab::julia_set::draw(
          turned, lab::julia_set::compute(chosen_step, turned).iterations, colours);
    });
    if (!right) return false;
    program.report_kernel(
        [&] { return lab::julia_set::compute(chosen_step, view).kernel_ms; },
        {.items = static_cast<double>(result.iterations.size()), .item_name = "pixels"});
    return true;
  });
}
