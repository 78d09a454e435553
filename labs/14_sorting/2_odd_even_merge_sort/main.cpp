// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 14.2 odd_even_merge_sort: the program.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>

#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/key_value.hpp"
#include "lab/sort_baseline.hpp"
#include "odd_even_merge_sort.hpp"
#include "reference.hpp"

namespace {

void print_some(const lab::key_values& pairs, std::size_t length) {
  constexpr std::size_t kMost = 6;
  std::printf("  first array:");
  for (std::size_t i = 0; i < length && i < kMost; ++i) {
    std::printf("  %u", pairs.keys[i]);
    if (!pairs.values.empty()) std::printf(" (%u)", pairs.values[i]);
  }
  std::printf("%s\n", length > kMost ? "  ..." : "");
}

}  // namespace

int main(int argc, char** argv) {
  using lab::direction;
  using lab::odd_even_merge_sort::step;
  lab::program program("14.2_odd_even_merge_sort",
                       "Sorts pairs of keys and values with Batcher's odd-even merges.");
  std::size_t size = lab::on_cpu_device() ? std::size_t{1} << 16 : std::size_t{1} << 20;
  std::size_t length = 0;
  std::size_t highest = 0xFFFFFFFFU;
  bool keys_only = false;
  program.add_size("--size", size, "number of elements in all arrays together");
  program.add_size("--length", length, "elements in an array, a power of two; 0: one array of all");
  program.add_size("--highest", highest, "keys are random numbers from 0 to this")
      .at_most(0xFFFFFFFFU);
  program.add_flag("--keys-only", keys_only, "sort keys without values");
  const auto& way = program.add_choice<direction>(
      "--direction", {{"ascending", direction::ascending}, {"descending", direction::descending}},
      direction::ascending, "which key comes first");
  const auto& chosen_step = program.add_step<step>(
      {{"shared_tiles", step::shared_tiles, "tiles of 1024, a launch for each longer stage"},
       {"columns_and_windows", step::columns_and_windows, "two launches for a merge"}},
      step::columns_and_windows);

  return program.run(argc, argv, [&] {
    lab::batch arrays{1, length == 0 ? size : length};
    if (size == 0) arrays = {0, length == 0 ? 1 : length};
    if (arrays.count != 0) arrays.count = size / arrays.length;
    if (arrays.count * arrays.length != size)
      throw lab::invalid_input("--size must be a whole number of arrays of --length elements");
    program.require_memory(48 * size, 16 * size);
    lab::key_values input =
        lab::make_key_values(size, program.seed(), static_cast<std::uint32_t>(highest));
    if (keys_only) input.values.clear();

    const auto run_once = [&] {
      return lab::odd_even_merge_sort::sort(chosen_step, input.keys, input.values, arrays, way);
    };
    const auto result = run_once();
    std::printf("step %s: arrays: %zu, elements in each: %zu\n", program.step_name().c_str(),
                arrays.count, arrays.length);
    std::printf("  %zu comparators for an array (bitonic: %zu), in %u launches\n",
                lab::odd_even_merge_sort::comparators(arrays.length),
                lab::odd_even_merge_sort::bitonic_comparators(arrays.length), result.launches);
    if (size > 0) print_some(result.sorted, arrays.length);
    if (!program.verdict(lab::check_sorted(result.sorted, input, arrays, way))) return false;
    const auto time = program.report_kernel(
        [&] { return run_once().kernel_ms; },
        {.items = static_cast<double>(size), .item_name = keys_only ? "keys" : "pairs"});
    program.report_library(arrays.count == 1 ? "cub::DeviceRadixSort" : "cub::DeviceSegmentedSort",
                           lab::library_sort_milliseconds(input.keys, input.values, arrays), time);
    return true;
  });
}
