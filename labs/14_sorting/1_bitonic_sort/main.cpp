// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 14.1 bitonic_sort: the program.

#include <cstdio>

#include "bitonic_sort.hpp"
#include "lab/command_line.hpp"
#include "lab/key_value.hpp"
#include "lab/network_program.hpp"
#include "reference.hpp"

int main(int argc, char** argv) {
  using lab::bitonic_sort::step;
  lab::program program("14.1_bitonic_sort", "Sorts pairs of keys and values with a fixed network.");
  lab::network_options options(program);
  const auto& chosen_step = program.add_step<step>(
      {{"shared_tiles", step::shared_tiles, "tiles of 1024, a launch for each longer stage"},
       {"registers", step::registers, "16 elements per thread, four stages at a time"}},
      step::registers);

  return program.run(argc, argv, [&] {
    return lab::run_network(
        program, options,
        [&](const lab::key_values& input, lab::batch arrays) {
          return lab::bitonic_sort::sort(chosen_step, input.keys, input.values, arrays,
                                         options.order());
        },
        [](lab::batch arrays, unsigned launches) {
          std::printf("  %zu stages in %u launches\n", lab::bitonic_sort::stages(arrays.length),
                      launches);
        });
  });
}
