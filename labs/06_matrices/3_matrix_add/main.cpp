// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.3 matrix_add: the program.

#include <cstddef>
#include <cstdio>

#include "lab/closeness.hpp"
#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/random.hpp"
#include "matrix_add.hpp"
#include "reference.hpp"

namespace {

void print_layout(const lab::matrix_add::result& result, std::size_t rows, std::size_t columns) {
  const std::size_t width = columns * sizeof(float), gap = result.pitch - width;
  std::printf("a row has %zu bytes, and the next one begins %zu bytes further", width,
              result.pitch);
  if (gap == 0)
    std::printf(": no gaps\n");
  else
    std::printf(": gaps of %zu bytes\n", gap);
  constexpr std::size_t kMostRows = 4;
  for (std::size_t y = 0; y < rows && y < kMostRows; ++y)
    std::printf("  row %zu begins at byte %5zu, %s a multiple of 128\n", y, y * result.pitch,
                y * result.pitch % 128 == 0 ? "which is" : "not");
}

}  // namespace

int main(int argc, char** argv) {
  using lab::matrix_add::step;
  lab::program program("06.3_matrix_add", "Adds two matrices, with and without gaps between rows.");
  constexpr std::size_t kMost = std::size_t{1} << 24;  // so that no product overflows
  std::size_t size = lab::on_cpu_device() ? lab::matrix_add::kDefaultSize : 8191, rows = 0,
              columns = 0;
  program.add_size("--size", size, "rows and columns, where they are not given").at_most(kMost);
  program.add_size("--rows", rows, "rows of the matrices; 0: as --size").at_most(kMost);
  program.add_size("--columns", columns, "columns of the matrices; 0: as --size").at_most(kMost);
  const auto& chosen_step =
      program.add_step<step>({{"flat", step::flat, "row after row without gaps"},
                              {"pitched", step::pitched, "each row at a good address"}},
                             step::pitched);

  return program.run(argc, argv, [&] {
    if (rows == 0) rows = size;
    if (columns == 0) columns = size;
    const std::size_t bytes = rows * columns * sizeof(float);
    const std::size_t device_bytes = rows * (columns * sizeof(float) + 512);  // with the gaps
    program.require_memory(4 * bytes + device_bytes, 3 * device_bytes);
    const auto a = lab::random_floats(rows * columns, program.seed(), -1, 1);
    const auto b = lab::random_floats(rows * columns, program.seed() + 1, -1, 1);

    const auto result = lab::matrix_add::add(chosen_step, a, b, rows, columns);
    std::printf("step %s, %zu rows of %zu elements\n", program.step_name().c_str(), rows, columns);
    if (!result.sum.empty()) print_layout(result, rows, columns);
    if (!program.verdict(lab::compare_exact(result.sum, lab::matrix_add::reference(a, b))))
      return false;
    program.report_kernel(
        [&] { return lab::matrix_add::add(chosen_step, a, b, rows, columns).kernel_ms; },
        {.bytes = 3.0 * static_cast<double>(bytes)});
    return true;
  });
}
