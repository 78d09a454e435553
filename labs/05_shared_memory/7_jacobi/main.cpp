// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.7 jacobi: the program.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numbers>
#include <string>
#include <vector>

#include "jacobi.hpp"
#include "lab/command_line.hpp"
#include "reference.hpp"

namespace {

/// A plate: its upper edge is at 100 degrees, its other edges and its interior are at 0.
std::vector<float> plate(std::size_t side) {
  const std::size_t width = side + 2;
  std::vector<float> matrix(width * width, 0.0F);
  std::fill_n(matrix.begin(), width, 100.0F);
  return matrix;
}

/// How much the cell that changes most changes in one more sweep.
double largest_change(const std::vector<float>& matrix, std::size_t side) {
  const std::vector<float> next = lab::jacobi::sweep(matrix, side);
  double largest = 0;
  for (std::size_t i = 0; i < matrix.size(); ++i)
    largest = std::max(largest, std::fabs(static_cast<double>(next[i]) - matrix[i]));
  return largest;
}

/// The interior; where it is too large for a screen, every second row and column.
void print_some(const std::vector<float>& matrix, std::size_t side) {
  const std::size_t step = (side + 15) / 16;
  for (std::size_t row = 1; row <= side; row += step) {
    for (std::size_t column = 1; column <= side; column += step)
      std::printf("%6.1f", static_cast<double>(matrix[row * (side + 2) + column]));
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("05.7_jacobi", "Relaxes a matrix in the shared memory of one block.");
  std::size_t side = 16, sweeps = 256;
  program.add_size("--size", side, "rows and columns of the interior")
      .at_least(1)
      .at_most(lab::jacobi::kMaxSide);
  program.add_size("--sweeps", sweeps, "how often to relax").at_most(1'000'000);
  program.add_table_options();

  return program.run(argc, argv, [&] {
    const std::vector<float> start = plate(side);
    std::printf("a plate of %zu x %zu, its upper edge at 100 degrees, the others at 0\n", side,
                side);

    lab::table rows({"sweeps", "largest change in the next"});
    lab::chart plot{.title = "Relaxation",
                    .x_label = "sweeps",
                    .y_label = "degrees",
                    .log_y = true,
                    .lines = {{"largest change", {}}}};
    std::vector<float> expected = start;
    std::size_t done = 0;
    for (std::size_t n = 1;; n *= 2) {
      const std::size_t now = std::min(n, sweeps);
      for (; done < now; ++done) expected = lab::jacobi::sweep(expected, side);
      const auto relaxed = lab::jacobi::relax(start, side, now);
      const auto same = lab::compare_exact(relaxed.matrix, expected);
      if (!same) return program.verdict(false, std::to_string(now) + " sweeps: " + same.message);
      const double change = largest_change(relaxed.matrix, side);
      rows.add({static_cast<std::int64_t>(now), change});
      plot.lines[0].points.emplace_back(static_cast<double>(now), change);
      if (now == sweeps) break;
    }
    std::printf("after %zu sweeps:\n", sweeps);
    print_some(expected, side);
    program.verdict(true, "every table row's matrix is the host's, bit for bit");
    const double cells = static_cast<double>(side * side);
    program.report_kernel([&] { return lab::jacobi::relax(start, side, sweeps).kernel_ms; },
                          {.items = cells * static_cast<double>(sweeps), .item_name = "means"});
    program.emit_table(rows, plot);
    std::printf("in the long run each sweep leaves %.4f of the change\n",
                std::cos(std::numbers::pi / static_cast<double>(side + 1)));
    return true;
  });
}
