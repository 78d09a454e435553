// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 08.4 heat_transfer: the program.

#include <cstddef>
#include <cstdio>
#include <span>
#include <vector>

#include "heat_transfer.hpp"
#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/timer.hpp"
#include "reference.hpp"
#include "scene.hpp"

int main(int argc, char** argv) {
  using lab::heat_transfer::simulate;
  using lab::heat_transfer::step;
  constexpr int kDelayMs = 50;  // 20 frames a second

  lab::program program("08.4_heat_transfer", "Heat flows through a plate with heaters.");
  int width = lab::on_cpu_device() ? lab::heat_transfer::kDefaultSize : 1024, height = width,
      steps = 90;
  program.add_number("--width", width, "of the plate, in cells; 1024 in the book").at_least(1);
  program.add_number("--height", height, "of the plate, in cells; 1024 in the book").at_least(1);
  program.add_number("--steps", steps, "time steps from one frame to the next").at_least(1);
  const auto& chosen_step = program.add_step<step>(
      {{"global_memory", step::global_memory, "two kernels per step, through pointers"},
       {"texture_1d", step::texture_1d, "the same through textures over linear memory"},
       {"texture_2d", step::texture_2d, "the same through textures over pitched memory"},
       {"fused", step::fused, "one kernel per step, 16 cells per thread"},
       {"several_steps", step::several_steps, "one kernel for eight steps, in overlapping tiles"}},
      step::global_memory);
  program.add_animation_options(lab::on_cpu_device() ? 30 : 60, "heat.png");

  return program.run(argc, argv, [&] {
    const auto count = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
    program.require_memory(10 * count * sizeof(float), 3 * count * sizeof(float));
    std::printf("step %s: %d x %d cells, %d time steps a frame\n", program.step_name().c_str(),
                width, height, steps);

    const auto plate = lab::heat_transfer::book_scene(width, height);
    bool right = true;
    std::vector<float> expected = plate.initial;
    int done = 0;
    for (const int until : {1, 2, steps}) {
      if (until < done) continue;
      expected =
          lab::heat_transfer::reference(width, height, expected, plate.heaters, until - done);
      done = until;
      const auto result = simulate(chosen_step, width, height, plate.initial, plate.heaters, until);
      right &=
          program.verdict(lab::heat_transfer::compare_with(expected, result.cells, width, until));
    }

    // A wrong animation is worth seeing too.
    std::vector<float> cells;
    double total_ms = 0;
    int simulated = 0;
    program.emit_frames(width, height, kDelayMs, [&](lab::bitmap& picture, int tick) {
      if (tick == 0) {
        cells = plate.initial;
      } else {
        const lab::host_timer timer;
        cells = simulate(chosen_step, width, height, cells, plate.heaters, steps).cells;
        total_ms += timer.milliseconds();
        ++simulated;
      }
      lab::heat_transfer::draw(picture, cells);
    });
    if (simulated > 0)
      std::printf("average of %d frames, with the copies in both directions: %.1f ms\n", simulated,
                  total_ms / simulated);
    if (!right) return false;

    // In each step a cell's temperature and its heater are read once, and the new one is written.
    const double updates = static_cast<double>(count) * steps;
    program.report_kernel(
        [&] {
          return simulate(chosen_step, width, height, plate.initial, plate.heaters, steps)
              .kernel_ms;
        },
        {.bytes = updates * 3 * sizeof(float), .items = updates, .item_name = "cells"});
    return true;
  });
}
