// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 19.2 halo_exchange: the program.

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "halo_exchange.hpp"
#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "reference.hpp"

int main(int argc, char** argv) {
  using lab::halo_exchange::step;
  lab::program program("19.2_halo_exchange",
                       "Heat in a plate on all devices, which exchange rows.");
  using namespace lab::halo_exchange;
  const int scale = lab::on_cpu_device() ? 1 : 16;
  int width = scale * kDefaultWidth, height = scale * kDefaultHeight;
  int steps = kDefaultSteps, depth = kDefaultDepth, devices = 0;
  program.add_number("--width", width, "of the plate, in cells").at_least(1);
  program.add_number("--height", height, "of the plate, in cells").at_least(1);
  program.add_number("--steps", steps, "time steps").at_least(1);
  program.add_number("--depth", depth, "rows of a halo, in wide_halo");
  program.add_number("--devices", devices, "how many of the devices; 0: one, then two, up to all")
      .at_least(0);
  const auto& chosen_step = program.add_step<step>(
      {{"exchange_first", step::exchange_first, "exchange rows, then compute all"},
       {"overlapped", step::overlapped, "rows at the borders travel while the others are computed"},
       {"wide_halo", step::wide_halo, "several time steps for each exchange"}},
      step::exchange_first);

  return program.run(argc, argv, [&] {
    const int there = lab::device_count();
    if (devices > there)
      throw lab::invalid_input("--devices " + std::to_string(devices) + ": there are only " +
                               std::to_string(there));
    const int fewest = devices == 0 ? 1 : devices, most = devices == 0 ? there : devices;
    const auto count = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
    program.require_memory(6 * count * sizeof(float), 3 * count * sizeof(float));
    const std::vector<float> initial = lab::random_floats(count, program.seed(), 0, 1);
    std::vector<float> heaters(count);
    for (std::size_t i = 7; i < count; i += 101) heaters[i] = 10 * initial[i];
    const auto run = [&](int number) {
      return simulate(chosen_step, number, width, height, initial, heaters, steps, depth);
    };

    std::printf("step %s, %d x %d cells, %d time steps\n", program.step_name().c_str(), width,
                height, steps);
    const std::vector<float> expected = reference(width, height, initial, heaters, steps);
    for (int number = fewest; number <= most; ++number)
      if (!program.verdict(lab::compare_exact(run(number).cells, expected))) return false;

    // Of each cell the temperature and the heater are read, and the new temperature is written.
    // With several devices there is no rate of bytes: the limit is that of one memory.
    const double updates = static_cast<double>(steps) * static_cast<double>(count);
    double alone_ms = 0;
    for (int number = fewest; number <= most; ++number) {
      std::printf("%d device%s: ", number, number == 1 ? "" : "s");
      const lab::timing time =
          program.report_kernel([&] { return run(number).total_ms; },
                                {.bytes = number == 1 ? updates * 3 * sizeof(float) : 0,
                                 .items = updates,
                                 .item_name = "cells"});
      if (number == 1) alone_ms = time.median_ms;
      if (number > 1 && alone_ms > 0 && !lab::on_cpu_device())
        std::printf("  %.2f times as fast as one, %.0f %% of %d times\n", alone_ms / time.median_ms,
                    100 * alone_ms / time.median_ms / number, number);
    }
    return true;
  });
}
