// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 09.3 heat_interop: the program.

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "heat_interop.hpp"
#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/opengl.hpp"
#include "lab/opengl_frames.hpp"
#include "lab/report.hpp"
#include "lab/timer.hpp"
#include "reference.hpp"

int main(int argc, char** argv) {
  using lab::heat_interop::animate;
  using lab::heat_interop::step;
  constexpr int kDelayMs = 50;  // 20 frames a second

  lab::program program("09.3_heat_interop", "Heat flows through a plate in a buffer of OpenGL.");
  int width = lab::on_cpu_device() ? lab::heat_interop::kDefaultSize : 1024, height = width;
  int steps = lab::heat_interop::kDefaultSteps;
  program.add_number("--width", width, "of the plate, in cells; 1024 in the book").at_least(1);
  program.add_number("--height", height, "of the plate, in cells; 1024 in the book").at_least(1);
  program.add_number("--steps", steps, "time steps from one frame to the next").at_least(1);
  const auto& chosen_step = program.add_step<step>(
      {{"through_host", step::through_host, "colours are copied to the host, and to OpenGL"},
       {"interop", step::interop, "the colours are made in a buffer of OpenGL"}},
      step::interop);
  program.add_animation_options(lab::on_cpu_device() ? 20 : 60, "heat_interop.png");

  return program.run(argc, argv, [&] {
    const auto count = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
    program.require_memory(10 * count * sizeof(float), 6 * count * sizeof(float));
    lab::gl_context context;
    std::printf("OpenGL: %s\nstep %s: %d x %d cells, %d time step%s a frame\n",
                context.description().c_str(), program.step_name().c_str(), width, height, steps,
                steps == 1 ? "" : "s");

    const auto [initial, heaters] = lab::heat_interop::book_scene(width, height);
    const std::vector<lab::rgba> colours = lab::heat_interop::heat_colours();
    const lab::heat_interop::plate start{width, height, initial, heaters};

    bool right = true;
    {
      const lab::gl_canvas canvas(width, height);
      const auto draw = animate(chosen_step, start, colours, steps);
      std::vector<float> expected = initial;
      for (const int frame : {1, 2}) {
        draw();
        expected = lab::heat_interop::reference(width, height, expected, heaters, steps);
        auto verdict =
            lab::heat_interop::compare_with(expected, colours, canvas.read(), width, height);
        verdict.message = "frame " + std::to_string(frame) + ": " + verdict.message;
        right &= program.verdict(verdict);
      }
    }

    // A wrong animation is worth seeing too. Its frames come in order, so the tick is not needed.
    lab::emit_opengl_frames(program, context, width, height, kDelayMs, [&] {
      return [draw = animate(chosen_step, start, colours, steps)](int) { draw(); };
    });
    if (!right) return false;

    const lab::gl_canvas canvas(width, height);
    const auto draw = animate(chosen_step, start, colours, steps);
    std::vector<float> frames;
    // In each step a cell's temperature and its heater are read, and the new one is written; in
    // each frame a temperature is read and a colour is written.
    const double updates = static_cast<double>(count) * steps;
    program.report_kernel(
        [&] {
          const lab::host_timer timer;
          const float kernels_ms = draw();
          glFinish();  // waits for OpenGL
          frames.push_back(static_cast<float>(timer.milliseconds()));
          return kernels_ms;
        },
        {.bytes = updates * 3 * sizeof(float) + static_cast<double>(count) * 2 * sizeof(float),
         .items = updates,
         .item_name = "cells"});
    // The first one warms up, as it does for the kernels.
    const auto frame = lab::summarize(std::vector<float>(frames.begin() + 1, frames.end()));
    std::printf("whole frame, until OpenGL has drawn it: %.3f ms (median of %zu)\n",
                frame.median_ms, frame.runs);
    return true;
  });
}
