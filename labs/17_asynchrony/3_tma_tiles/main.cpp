// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 17.3 tma_tiles: the program.

#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/random.hpp"
#include "reference.hpp"
#include "tma_tiles.hpp"

int main(int argc, char** argv) {
  using lab::tma_tiles::step;
  lab::program program("17.3_tma_tiles",
                       "Applies a stencil to a matrix whose tiles are copied in bulk.");
  using namespace lab::tma_tiles;
  std::size_t width = lab::on_cpu_device() ? kDefaultWidth : 4096;
  std::size_t height = lab::on_cpu_device() ? kDefaultHeight : 4096;
  std::size_t blocks = 0;
  program.add_size("--width", width, "of the matrix").positive().at_most(kLongestSide);
  program.add_size("--height", height, "of the matrix").positive().at_most(kLongestSide);
  program.add_size("--blocks", blocks, "of step two_stages; 0: as many as the device runs at once")
      .at_most(kMostBlocks);
  const auto& chosen_step = program.add_step<step>(
      {{"loads", step::loads, "tiles go through registers into shared memory"},
       {"row_copies", step::row_copies, "each row of a tile is a bulk copy"},
       {"tensor_copy", step::tensor_copy, "a tile is one bulk copy with a tensor map"},
       {"two_stages", step::two_stages, "the next tile is copied while this one is used"}},
      step::loads);

  return program.run(argc, argv, [&] {
    const std::size_t count = width * height;
    program.require_memory(4 * count * sizeof(std::uint32_t), 3 * count * sizeof(std::uint32_t));
    const auto values = lab::random_words(count, program.seed());
    const auto run = [&] {
      return apply(chosen_step, values, width, height, static_cast<unsigned>(blocks));
    };
    std::printf("step %s, %zu x %zu values\n", program.step_name().c_str(), width, height);
    if (!program.verdict(lab::compare_exact(run().values, reference(values, width, height))))
      return false;
    // Each value is read once, if halos come from the cache, and written once.
    program.report_kernel([&] { return run().kernel_ms; },
                          {.bytes = 2.0 * static_cast<double>(count) * sizeof(std::uint32_t),
                           .items = static_cast<double>(count),
                           .item_name = "values"});
    return true;
  });
}
