// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.5 compaction: the program.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "compaction.hpp"
#include "lab/command_line.hpp"
#include "lab/random.hpp"
#include "reference.hpp"

int main(int argc, char** argv) {
  using lab::compaction::step;
  lab::program program("16.5_compaction", "Keeps the elements that satisfy a condition.");
  std::size_t size = std::size_t{1} << 20;
  double share = 0.3;
  program.add_size("--size", size, "number of elements");
  program.add_number("--share", share, "about which part of them is kept").at_least(0).at_most(1);
  const auto& chosen_step =
      program.add_step<step>({{"any_order", step::any_order, "an atomic addition for 32 elements"},
                              {"in_order", step::in_order, "count, scan, write"},
                              {"partition", step::partition, "then the others, also in order"}},
                             step::in_order);

  return program.run(argc, argv, [&] {
    constexpr int kMost = 999'999;
    program.require_memory(4 * size * sizeof(std::int32_t), 3 * size * sizeof(std::int32_t));
    const std::vector<int> numbers = lab::random_ints(size, program.seed(), 0, kMost);
    const std::vector<std::int32_t> values(numbers.begin(), numbers.end());
    const auto limit = static_cast<std::int32_t>(std::lround(share * (kMost + 1)));

    auto result = lab::compaction::compact(chosen_step, values, limit);
    std::printf("step %s: %zu of %zu elements are less than %d\n", program.step_name().c_str(),
                result.kept, size, limit);
    std::printf("first:");
    for (std::size_t i = 0; i < std::min<std::size_t>(result.values.size(), 8); ++i)
      std::printf(" %d", result.values[i]);
    std::printf(result.values.size() > 8 ? "  …\n" : "\n");

    auto expected = lab::compaction::reference_compact(chosen_step, values, limit);
    if (chosen_step == step::any_order) {
      const bool stable = result.values == expected;
      std::printf("they are %sin the order of the input\n", stable ? "" : "not ");
      std::sort(result.values.begin(), result.values.end());
      std::sort(expected.begin(), expected.end());
    }
    if (!program.verdict(lab::compare_exact(result.values, expected))) return false;
    const double kept = static_cast<double>(expected.size());
    program.report_kernel(
        [&] { return lab::compaction::compact(chosen_step, values, limit).kernel_ms; },
        {.bytes = (static_cast<double>(size) + kept) * sizeof(std::int32_t)});
    return true;
  });
}
