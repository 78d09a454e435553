// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.2 transpose: the program.

#include <cstddef>
#include <cstdio>

#include "lab/closeness.hpp"
#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/random.hpp"
#include "lab/transpose_baseline.hpp"
#include "reference.hpp"
#include "transpose.hpp"

int main(int argc, char** argv) {
  using lab::transpose::step;
  lab::program program("06.2_transpose", "Transposes a matrix: its rows become columns.");
  constexpr std::size_t kMost = std::size_t{1} << 24;  // so that no product overflows
  std::size_t size = lab::on_cpu_device() ? 1024 : 8192, rows = 0, columns = 0;
  program.add_size("--size", size, "rows and columns, where they are not given").at_most(kMost);
  program.add_size("--rows", rows, "rows of the matrix; 0: as --size").at_most(kMost);
  program.add_size("--columns", columns, "columns of the matrix; 0: as --size").at_most(kMost);
  const auto& chosen_step = program.add_step<step>(
      {{"naive", step::naive, "from global to global memory"},
       {"tile", step::tile, "a tile of 32 x 32 in shared memory"},
       {"padded_tile", step::padded_tile, "the same without bank conflicts"},
       {"coarse_tile", step::coarse_tile, "a padded tile of 64 x 64, 16 elements per thread"}},
      step::coarse_tile);

  return program.run(argc, argv, [&] {
    if (rows == 0) rows = size;
    if (columns == 0) columns = size;
    const std::size_t bytes = rows * columns * sizeof(float);
    program.require_memory(3 * bytes, 2 * bytes);
    const auto matrix = lab::random_floats(rows * columns, program.seed(), -1, 1);

    const auto result = lab::transpose::transpose(chosen_step, matrix, rows, columns);
    std::printf("step %s, %zu rows of %zu elements become %zu rows of %zu\n",
                program.step_name().c_str(), rows, columns, columns, rows);
    if (!program.verdict(lab::compare_exact(result.transposed,
                                            lab::transpose::reference(matrix, rows, columns))))
      return false;
    const auto time = program.report_kernel(
        [&] { return lab::transpose::transpose(chosen_step, matrix, rows, columns).kernel_ms; },
        {.bytes = 2.0 * static_cast<double>(bytes)});  // each element is read and written once
    program.report_library("cublasSgeam",
                           lab::library_transpose_milliseconds(matrix, rows, columns), time);
    return true;
  });
}
