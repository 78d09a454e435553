// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.6 grid_sync: the program.

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "grid_sync.hpp"
#include "lab/command_line.hpp"
#include "lab/random.hpp"
#include "reference.hpp"

int main(int argc, char** argv) {
  using lab::grid_sync::step;
  lab::program program("16.6_grid_sync", "Solves a linear system by conjugate gradients.");
  constexpr std::size_t kMost = std::size_t{1} << 20;  // so that no product overflows
  std::size_t width = 120, height = 80, most = 100'000;
  double tolerance = 1e-8;
  program.add_size("--width", width, "cells of a row").at_least(1).at_most(kMost);
  program.add_size("--height", height, "rows of cells").at_least(1).at_most(kMost);
  program.add_number("--tolerance", tolerance, "how small the residual has to be, relative to b")
      .at_least(1e-15)
      .at_most(1);
  program.add_size("--most", most, "iterations at most");
  const auto& chosen_step = program.add_step<step>(
      {{"many_launches", step::many_launches, "four kernels and a copy for each iteration"},
       {"one_launch", step::one_launch, "one kernel, with barriers of the grid"}},
      step::many_launches);

  return program.run(argc, argv, [&] {
    const std::size_t n = width * height;
    program.require_memory(5 * n * sizeof(double), 5 * n * sizeof(double));
    const std::vector<float> random = lab::random_floats(n, program.seed(), -1, 1);
    const std::vector<double> b(random.begin(), random.end());
    const auto run = [&] {
      return lab::grid_sync::solve(chosen_step, b, width, height, tolerance, most);
    };

    const auto result = run();
    const double size = lab::grid_sync::norm(b);
    const double residual =
        lab::grid_sync::norm(lab::grid_sync::residual_of(b, result.x, width, height));
    std::printf("step %s, %zu x %zu cells: %zu iterations\n", program.step_name().c_str(), width,
                height, result.iterations);
    std::printf("|b - A x| / |b|: %.3g, and computed from x: %.3g\n", result.residual / size,
                residual / size);
    if (!result.converged) std::printf("not converged: %zu iterations were not enough\n", most);
    const double allowed = (result.converged ? tolerance * size : result.residual) +
                           lab::grid_sync::rounding(result.x, result.iterations);
    if (!program.verdict(
            residual <= allowed,
            "the residual of x is " + std::to_string(residual / allowed) + " times what it may be"))
      return false;
    const double cells = static_cast<double>(n) * static_cast<double>(result.iterations);
    // In doubles: multiply 1 + 1, advance 4 + 2, turn 2 + 1.
    program.report_kernel([&] { return run().kernel_ms; }, {.bytes = 11 * sizeof(double) * cells});
    return true;
  });
}
