// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.1 warp_sum: the program.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/random.hpp"
#include "lab/sum_baseline.hpp"
#include "reference.hpp"
#include "warp_sum.hpp"

int main(int argc, char** argv) {
  using lab::warp_sum::step;
  lab::program program("16.1_warp_sum", "Sums by shuffles, without shared memory.");
  std::size_t size = lab::warp_sum::kDefaultSize, threads = lab::warp_sum::kDefaultThreads;
  program.add_size("--size", size, "number of values");
  program.add_size("--threads", threads, "threads in a block").at_most(0xFFFF'FFFF);
  const auto& chosen_step = program.add_step<step>(
      {{"shuffle_down", step::shuffle_down, "a tree; then lane 0 passes the sum on"},
       {"butterfly", step::butterfly, "pairs of lanes exchange what they have"},
       {"reduce_sync", step::reduce_sync, "the instruction for it"}},
      step::butterfly);

  return program.run(argc, argv, [&] {
    program.require_memory(2 * size * sizeof(std::uint32_t), size * sizeof(std::uint32_t));
    const auto block = static_cast<unsigned>(threads);

    // What the lanes have, on few enough values to look at all of them.
    std::vector<std::uint32_t> few(std::min<std::size_t>(size, 100'000));
    for (std::size_t i = 0; i < few.size(); ++i) few[i] = static_cast<std::uint32_t>(i);
    const auto sums = lab::warp_sum::warp_sums(chosen_step, few, block);
    std::printf("step %s, %zu values, blocks of %zu threads\n", program.step_name().c_str(), size,
                threads);
    if (!program.verdict(
            lab::compare_exact(sums, lab::warp_sum::reference_warp_sums(few, threads))))
      return false;
    if (!few.empty())
      std::printf("the values are 0, 1, 2, …: each lane of the first warp has %u\n", sums.front());

    const auto values = lab::random_words(size, program.seed());
    const auto result = lab::warp_sum::sum(chosen_step, values, block);
    const std::uint32_t expected = lab::warp_sum::reference_sum(values);
    std::printf("sum of %zu random values, modulo 2^32: %u\n", size, result.value);
    if (!program.verdict(result.value == expected,
                         result.value == expected
                             ? "the host has the same sum"
                             : "the host's sum is " + std::to_string(expected)))
      return false;
    const auto time = program.report_kernel(
        [&] { return lab::warp_sum::sum(chosen_step, values, block).kernel_ms; },
        {.bytes = static_cast<double>(size) * sizeof(std::uint32_t)});
    if (size > 0)
      program.report_library("cub::DeviceReduce::Sum", lab::library_sum_milliseconds(values), time);
    return true;
  });
}
