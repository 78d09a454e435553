// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 14.2 odd_even_merge_sort: the program.

#include <cstdio>

#include "lab/command_line.hpp"
#include "lab/key_value.hpp"
#include "lab/network_program.hpp"
#include "odd_even_merge_sort.hpp"
#include "reference.hpp"

int main(int argc, char** argv) {
  using lab::odd_even_merge_sort::step;
  lab::program program("14.2_odd_even_merge_sort",
                       "Sorts pairs of keys and values with Batcher's odd-even merges.");
  lab::network_options options(program);
  const auto& chosen_step = program.add_step<step>(
      {{"shared_tiles", step::shared_tiles, "tiles of 1024, a launch for each longer stage"},
       {"columns_and_windows", step::columns_and_windows, "two launches for a merge"}},
      step::columns_and_windows);

  return program.run(argc, argv, [&] {
    return lab::run_network(
        program, options,
        [&](const lab::key_values& input, lab::batch arrays) {
          return lab::odd_even_merge_sort::sort(chosen_step, input.keys, input.values, arrays,
                                                options.order());
        },
        [](lab::batch arrays, unsigned launches) {
          std::printf("  %zu comparators for an array (bitonic: %zu), in %u launches\n",
                      lab::odd_even_merge_sort::comparators(arrays.length),
                      lab::odd_even_merge_sort::bitonic_comparators(arrays.length), launches);
        });
  });
}
