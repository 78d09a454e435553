// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.2 group_reduce: the program.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "group_reduce.hpp"
#include "lab/command_line.hpp"
#include "lab/random.hpp"
#include "reference.hpp"

int main(int argc, char** argv) {
  using lab::group_reduce::step;
  lab::program program("16.2_group_reduce", "Sums of rows by groups of threads of any size.");
  constexpr std::size_t kMost = std::size_t{1} << 30;  // so that no product overflows
  using namespace lab::group_reduce;
  std::size_t rows = kDefaultRows, length = kDefaultLength, tile = kDefaultTile;
  double share = 0.5;
  program.add_size("--rows", rows, "number of rows").at_most(kMost);
  program.add_size("--length", length, "elements of a row").at_least(1).at_most(kMost);
  program.add_size("--tile", tile, "threads for a row: 1, 2, 4, 8, 16 or 32").at_most(32);
  program.add_number("--share", share, "about which part of the elements is added")
      .at_least(0)
      .at_most(1);
  const auto& chosen_step = program.add_step<step>(
      {{"tiles", step::tiles, "the tile's own shuffles"},
       {"reduce", step::reduce, "the library's reduce"},
       {"coalesced", step::coalesced, "those with an element add up, and one atomic addition"}},
      step::reduce);

  return program.run(argc, argv, [&] {
    constexpr int kLargest = 999'999;
    const std::size_t size = rows * length;
    program.require_memory(3 * size * sizeof(std::uint32_t), (size + rows) * sizeof(std::uint32_t));
    const std::vector<int> numbers = lab::random_ints(size, program.seed(), 0, kLargest);
    const std::vector<std::uint32_t> values(numbers.begin(), numbers.end());
    const auto limit = static_cast<std::uint32_t>(std::lround(share * (kLargest + 1)));
    const auto threads = static_cast<unsigned>(tile);

    const auto result = lab::group_reduce::sum_rows(chosen_step, values, length, limit, threads);
    std::printf("step %s: %zu rows of %zu elements, %zu threads for a row\n",
                program.step_name().c_str(), rows, length, tile);
    std::printf("sums of the elements less than %u:", limit);
    for (std::size_t i = 0; i < std::min<std::size_t>(result.sums.size(), 4); ++i)
      std::printf(" %u", result.sums[i]);
    std::printf(result.sums.size() > 4 ? "  …\n" : "\n");
    if (!program.verdict(lab::compare_exact(
            result.sums, lab::group_reduce::reference_sums(values, length, limit))))
      return false;
    program.report_kernel(
        [&] {
          return lab::group_reduce::sum_rows(chosen_step, values, length, limit, threads).kernel_ms;
        },
        {.bytes = static_cast<double>(size + rows) * sizeof(std::uint32_t)});
    return true;
  });
}
