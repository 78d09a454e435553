// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 20.2 mpi_heat: the program.

#include <cstddef>
#include <cstdio>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/random.hpp"
#include "mpi_heat.hpp"
#include "reference.hpp"

int main(int argc, char** argv) {
  using lab::mpi_heat::step;
  using namespace lab::mpi_heat;
  lab::program program("20.2_mpi_heat", "Heat on a plate that several processes share.");
  int width = kDefaultWidth, height = kDefaultHeight, steps = kDefaultSteps, ranks = kDefaultRanks;
  int kill_rank = -1;
  program.add_number("--width", width, "of the plate, in cells").at_least(1).at_most(kLongestSide);
  program.add_number("--height", height, "of the plate, in cells")
      .at_least(1)
      .at_most(kLongestSide);
  program.add_number("--steps", steps, "time steps").at_least(0);
  program.add_number("--ranks", ranks, "processes that mpirun starts")
      .at_least(1)
      .at_most(kMostRanks);
  program.add_number("--kill-rank", kill_rank, "this one ends itself halfway; -1: none does")
      .at_least(-1)
      .at_most(kMostRanks - 1);
  const auto& chosen_step = program.add_step<step>(
      {{"blocking", step::blocking, "the halos are exchanged, and then all cells are computed"},
       {"overlap", step::overlap, "inner cells are computed while the halos are on their way"}},
      step::blocking);

  return program.run(argc, argv, [&] {
    const auto count = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
    program.require_memory(10 * count * sizeof(float), 3 * count * sizeof(float));
    const std::vector<float> initial = lab::random_floats(count, program.seed(), 0, 1);
    std::vector<float> heaters(count);
    for (std::size_t i = 7; i < count; i += 101) heaters[i] = 10 * initial[i];
    result last;
    const auto run = [&] {
      last = simulate(chosen_step, width, height, initial, heaters, steps, ranks, kill_rank);
      return last.total_ms;
    };

    run();
    std::printf("step %s, %d x %d cells, %d time steps\n", program.step_name().c_str(), width,
                height, steps);
    std::printf("%d x %d ranks", last.grid.rows, last.grid.columns);
    const int idle = ranks - last.grid.rows * last.grid.columns;
    std::printf(idle > 0 ? ", and %d with nothing to do\n" : "\n", idle);
    if (!program.verdict(
            lab::compare_exact(last.cells, reference(width, height, initial, heaters, steps))))
      return false;

    const double updates = static_cast<double>(steps) * static_cast<double>(count);
    // No rate of memory: several processes may share a device, or have one each.
    const lab::timing time = program.report_kernel(run, {.items = updates, .item_name = "cells"});
    if (steps > 0)
      std::printf("a time step: %.3g us; of the last run, %.0f %% in calls of MPI%s\n",
                  1000 * time.median_ms / steps, 100 * last.exchange_ms / last.total_ms,
                  lab::on_cpu_device() ? " (CPU device, not a GPU's time)" : "");
    return true;
  });
}
