// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 04.2 ripple: the program.

#include <cstddef>
#include <cstdio>

#include "lab/command_line.hpp"
#include "reference.hpp"
#include "ripple.hpp"

int main(int argc, char** argv) {
  using lab::ripple::step;
  constexpr int kDelayMs = 33;  // 30 frames a second

  lab::program program("04.2_ripple", "Draws rings on a pond, frame by frame.");
  int width = 1024, height = 1024;
  program.add_number("--width", width, "of the picture, in pixels").at_least(1);
  program.add_number("--height", height, "of the picture, in pixels").at_least(1);
  const auto& chosen_step = program.add_step<step>(
      {{"blocks_16x16", step::blocks_16x16, "blocks of 16 x 16 threads"},
       {"flat_256", step::flat_256, "blocks of 256 threads in a row, along all pixels"}},
      step::blocks_16x16);
  // The picture of tick 44 is nearly that of tick 0 (2 pi * 7 = 43.98): a loop without a seam.
  program.add_animation_options(44, "ripple.png");

  return program.run(argc, argv, [&] {
    const auto pixels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
    program.require_memory(2 * pixels * sizeof(lab::rgba), pixels * sizeof(lab::rgba));
    std::printf("step %s: %d x %d pixels\n", program.step_name().c_str(), width, height);

    bool right = true;
    for (const int tick : {0, 11, 2'000'000'000}) {
      const auto result = lab::ripple::frame(chosen_step, width, height, tick);
      right &=
          program.verdict(lab::ripple::compare_with_reference(result.picture, width, height, tick));
    }

    // A wrong animation is worth seeing too.
    const auto draw = lab::ripple::animate(chosen_step, width, height);
    program.emit_frames(width, height, kDelayMs,
                        [&](lab::bitmap& picture, int tick) { draw(picture, tick); });
    if (!right) return false;

    lab::bitmap picture(width, height);
    int tick = 0;
    program.report_kernel(
        [&] { return draw(picture, tick++); },
        {.bytes = static_cast<double>(pixels * sizeof(lab::rgba)),  // written, nothing is read
         .items = static_cast<double>(pixels),
         .item_name = "pixels"});
    return true;
  });
}
