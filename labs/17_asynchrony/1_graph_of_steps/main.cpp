// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 17.1 graph_of_steps: the program.

#include <cstddef>
#include <cstdio>
#include <vector>

#include "graph_of_steps.hpp"
#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/random.hpp"
#include "reference.hpp"

int main(int argc, char** argv) {
  using lab::graph_of_steps::step;
  lab::program program("17.1_graph_of_steps", "Launches many short kernels by graphs.");
  using namespace lab::graph_of_steps;
  int width = kDefaultWidth, height = kDefaultHeight, phases = kDefaultPhases;
  int steps = lab::on_cpu_device() ? kDefaultSteps : 1001, batch = kDefaultBatch;
  program.add_number("--width", width, "of the plate, in cells").at_least(1);
  program.add_number("--height", height, "of the plate, in cells").at_least(1);
  program.add_number("--phases", phases, "each with another strength of the heaters").at_least(1);
  program.add_number("--steps", steps, "time steps of a phase").at_least(1);
  program.add_number("--batch", batch, "time steps in a graph, an even number");
  const auto& chosen_step = program.add_step<step>(
      {{"launches", step::launches, "a kernel launch for each time step"},
       {"captured", step::captured, "a graph of a batch of time steps, captured for each phase"},
       {"updated", step::updated, "a single executable graph, updated from phase to phase"},
       {"built", step::built, "the same, but its nodes are added one by one"}},
      step::launches);

  return program.run(argc, argv, [&] {
    const auto count = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
    program.require_memory(6 * count * sizeof(float), 3 * count * sizeof(float));
    const std::vector<float> initial = lab::random_floats(count, program.seed(), 0, 1);
    std::vector<float> heaters(count);
    for (std::size_t i = 7; i < count; i += 101) heaters[i] = 10 * initial[i];
    std::vector<float> strengths;
    for (int i = 0; i < phases; ++i) strengths.push_back(1 / static_cast<float>(i + 1));
    const auto run = [&] {
      return lab::graph_of_steps::simulate(chosen_step, width, height, initial, heaters, strengths,
                                           steps, batch);
    };

    std::printf("step %s, %d x %d cells: %d phases of %d time steps\n", program.step_name().c_str(),
                width, height, phases, steps);
    if (chosen_step != step::launches)
      std::printf("launches of a phase: %d of a graph of %d time steps, %d of the kernel\n",
                  steps / batch, batch, steps % batch);
    if (!program.verdict(lab::compare_exact(
            run().cells,
            lab::graph_of_steps::reference(width, height, initial, heaters, strengths, steps))))
      return false;

    const double time_steps = static_cast<double>(phases) * steps;
    const double updates = time_steps * static_cast<double>(count);
    // Of each cell the temperature and the heater are read once, and the new temperature is
    // written.
    const lab::timing time = program.report_kernel(
        [&] { return run().total_ms; },
        {.bytes = updates * 3 * sizeof(float), .items = updates, .item_name = "cells"});
    std::printf("a time step: %.3g us%s\n", 1000 * time.median_ms / time_steps,
                lab::on_cpu_device() ? " (CPU device, not a GPU's time)" : "");
    return true;
  });
}
