// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.2 divergent_barrier: the program.

#include <cstddef>
#include <cstdio>
#include <vector>

#include "divergent_barrier.hpp"
#include "lab/command_line.hpp"
#include "lab/random.hpp"
#include "reference.hpp"

namespace {

using lab::divergent_barrier::kRows;

enum class kernel { sums, means };

/// The first column, row by row: on a GPU the wrong version shows which threads were too early.
void print_first_column(const std::vector<float>& table, const std::vector<float>& result,
                        const std::vector<double>& expected) {
  const std::size_t columns = table.size() / kRows;
  if (columns == 0) return;
  std::printf("first column:  number  less the mean   expected\n");
  for (std::size_t row = 0; row < kRows; ++row)
    std::printf("  row %zu       %7g  %13g  %9g\n", row, static_cast<double>(table[row * columns]),
                static_cast<double>(result[row * columns]), expected[row * columns]);
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("05.2_divergent_barrier", "Two kernels in which a barrier was misplaced.");
  std::size_t size = 33 * 1024;
  program.add_size("--size", size, "number of values (sums) or of columns (means)");
  const auto& chosen = program.add_step<kernel>(
      {{"sums", kernel::sums, "the sum of each 256 values"},
       {"means", kernel::means, "a table of 8 rows, less the means of its columns"}},
      kernel::sums);

  return program.run(argc, argv, [&] {
    namespace lab_functions = lab::divergent_barrier;
    const bool sums = chosen == kernel::sums;
    const std::size_t n = sums ? size : kRows * size;
    program.require_memory(4 * n * sizeof(double), 2 * n * sizeof(float));
    // Whole numbers: nothing is rounded, so there is one right result. None is 0 or negative, so a
    // sum that is not complete yet is never the right one.
    const std::vector<int> whole = lab::random_ints(n, program.seed(), 1, 99);
    const std::vector<float> data(whole.begin(), whole.end());

    const auto run_once = [&] {
      return sums ? lab_functions::sums_of_blocks(data) : lab_functions::minus_column_means(data);
    };
    std::printf("step %s, %zu %s\n", program.step_name().c_str(), size,
                sums ? "values" : "columns of 8 numbers");
    const auto result = run_once();
    const auto expected =
        sums ? lab_functions::reference_sums(data) : lab_functions::reference_means(data);
    if (!sums && result.values.size() == n) print_first_column(data, result.values, expected);
    if (!program.verdict(lab::compare(result.values, expected, {}))) return false;
    const double bytes = static_cast<double>(n + result.values.size()) * sizeof(float);
    program.report_kernel([&] { return run_once().kernel_ms; }, {.bytes = bytes});
    return true;
  });
}
