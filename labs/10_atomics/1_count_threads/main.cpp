// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 10.1 count_threads: the program.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "count_threads.hpp"
#include "lab/command_line.hpp"
#include "reference.hpp"

namespace {

using lab::count_threads::condition;
using lab::count_threads::shape;

/// The upper left corner of the grid: a # for each thread that is to be counted.
void print_map(condition criterion, const shape& grid) {
  constexpr std::uint64_t kRows = 8, kColumns = 48;
  const std::uint64_t rows = lab::count_threads::rows_of(grid);
  const std::uint64_t columns = lab::count_threads::columns_of(grid);
  for (std::uint64_t i = 0; i < std::min(rows, kRows); ++i) {
    std::printf("  row %llu  ", static_cast<unsigned long long>(i));
    for (std::uint64_t j = 0; j < std::min(columns, kColumns); ++j)
      std::putchar(lab::count_threads::fulfils(criterion, i, j) ? '#' : '.');
    std::puts(columns > kColumns ? " ..." : "");
  }
  if (rows > kRows) std::puts("  ...");
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("10.1_count_threads",
                       "The threads of a grid count those of them that fulfil a condition.");
  using lab::count_threads::kDefaultGrid;
  std::size_t size = kDefaultGrid.blocks.x;
  std::size_t threads_x = kDefaultGrid.threads.x, threads_y = kDefaultGrid.threads.y;
  constexpr std::size_t kMost = 0xFFFF'FFFF;  // what an unsigned holds; the device says the rest
  program.add_size("--size", size, "blocks in each direction").at_most(kMost);
  program.add_size("--threads-x", threads_x, "threads of a block along x").at_most(kMost);
  program.add_size("--threads-y", threads_y, "threads of a block along y").at_most(kMost);
  const auto& criterion = program.add_choice<condition>(
      "--condition",
      {{"every_thread", condition::every_thread, "counts them all"},
       {"on_or_below_diagonal", condition::on_or_below_diagonal, "row i >= column j"},
       {"on_diagonal", condition::on_diagonal, "i == j"},
       {"chessboard", condition::chessboard, "i + j is even"}},
      condition::on_or_below_diagonal, "who is counted");

  return program.run(argc, argv, [&] {
    const auto blocks = static_cast<unsigned>(size);
    const shape grid{{blocks, blocks},
                     {static_cast<unsigned>(threads_x), static_cast<unsigned>(threads_y)}};
    std::printf("%u x %u blocks of %u x %u threads: %llu rows, %llu columns\n", grid.blocks.x,
                grid.blocks.y, grid.threads.x, grid.threads.y,
                static_cast<unsigned long long>(lab::count_threads::rows_of(grid)),
                static_cast<unsigned long long>(lab::count_threads::columns_of(grid)));
    print_map(criterion, grid);
    const auto result = lab::count_threads::count(criterion, grid);
    const std::uint64_t expected = lab::count_threads::closed_form(criterion, grid);
    std::printf("counted:     %llu\nclosed form: %llu\n",
                static_cast<unsigned long long>(result.count),
                static_cast<unsigned long long>(expected));
    if (!program.verdict(result.count == expected,
                         result.count == expected ? "the count is that of the closed form"
                                                  : "the count is not that of the closed form"))
      return false;
    if (expected != 0)
      program.report_kernel(
          [&] { return lab::count_threads::count(criterion, grid).kernel_ms; },
          {.items = static_cast<double>(expected), .item_name = "atomic additions"});
    return true;
  });
}
