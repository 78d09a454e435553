// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 09.2 ripple_interop: the program.

#include <cstddef>
#include <cstdio>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/opengl.hpp"
#include "lab/opengl_frames.hpp"
#include "lab/report.hpp"
#include "lab/timer.hpp"
#include "reference.hpp"
#include "ripple_interop.hpp"

int main(int argc, char** argv) {
  using lab::ripple_interop::animate;
  using lab::ripple_interop::step;
  constexpr int kDelayMs = 33;  // 30 frames a second

  lab::program program("09.2_ripple_interop", "Draws rings on a pond, in a buffer of OpenGL.");
  int width = lab::on_cpu_device() ? lab::ripple_interop::kDefaultSize : 1024, height = width;
  program.add_number("--width", width, "of the picture, in pixels; 1024 in the book").at_least(1);
  program.add_number("--height", height, "of the picture, in pixels; 1024 in the book").at_least(1);
  const auto& chosen_step = program.add_step<step>(
      {{"through_host", step::through_host, "pixels are copied to the host, and to OpenGL"},
       {"interop", step::interop, "the kernel draws into a buffer of OpenGL"}},
      step::interop);
  // The picture of tick 44 is nearly that of tick 0 (2 pi * 7 = 43.98): a loop without a seam.
  program.add_animation_options(44, "ripple_interop.png");

  return program.run(argc, argv, [&] {
    const auto pixels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
    program.require_memory(3 * pixels * sizeof(lab::rgba), 3 * pixels * sizeof(lab::rgba));
    lab::gl_context context;
    std::printf("OpenGL: %s\nstep %s: %d x %d pixels\n", context.description().c_str(),
                program.step_name().c_str(), width, height);

    bool right = true;
    for (const int tick : {0, 11, 2'000'000'000}) {
      const auto result = lab::ripple_interop::frame(chosen_step, width, height, tick);
      right &= program.verdict(
          lab::ripple_interop::compare_with_reference(result.picture, width, height, tick));
    }

    // A wrong animation is worth seeing too.
    lab::emit_opengl_frames(program, context, width, height, kDelayMs,
                            [&] { return animate(chosen_step, width, height); });
    if (!right) return false;

    const lab::gl_canvas canvas(width, height);
    const auto draw = animate(chosen_step, width, height);
    std::vector<float> frames;
    int tick = 0;
    program.report_kernel(
        [&] {
          const lab::host_timer timer;
          const float kernel_ms = draw(tick++);
          glFinish();  // waits for OpenGL
          frames.push_back(static_cast<float>(timer.milliseconds()));
          return kernel_ms;
        },
        {.bytes = static_cast<double>(pixels * sizeof(lab::rgba)),  // written, nothing is read
         .items = static_cast<double>(pixels),
         .item_name = "pixels"});
    // The first one warms up, as it does for the kernel.
    const auto frame = lab::summarize(std::vector<float>(frames.begin() + 1, frames.end()));
    std::printf("whole frame, until OpenGL has drawn it: %.3f ms (median of %zu)\n",
                frame.median_ms, frame.runs);
    return true;
  });
}
