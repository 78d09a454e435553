// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.3 block_scan: the program.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "block_scan.hpp"
#include "lab/command_line.hpp"
#include "lab/random.hpp"
#include "reference.hpp"

int main(int argc, char** argv) {
  using lab::block_scan::kind;
  using lab::block_scan::step;
  lab::program program("16.3_block_scan", "Running sums of a matrix's rows, one block per row.");
  constexpr std::size_t kMost = std::size_t{1} << 30;  // so that no product overflows
  using namespace lab::block_scan;
  std::size_t rows = kDefaultRows, length = kDefaultLength, threads = kDefaultThreads;
  program.add_size("--rows", rows, "number of rows").at_most(kMost);
  program.add_size("--length", length, "elements of a row").at_least(1).at_most(kMost);
  program.add_size("--threads", threads, "threads in a block, a power of two from 32 to 1024")
      .at_most(0xFFFF'FFFF);
  const auto& chosen_kind = program.add_choice<kind>(
      "--kind",
      {{"inclusive", kind::inclusive, "element i is the sum of the values 0 to i"},
       {"exclusive", kind::exclusive, "element i is the sum of those before it"}},
      kind::exclusive, "which sums");
  const auto& chosen_step = program.add_step<step>(
      {{"hillis_steele", step::hillis_steele, "few levels, n log n additions"},
       {"blelloch", step::blelloch, "up a tree and down again, 2 n additions"},
       {"warps", step::warps, "by shuffles, in two levels of warps"}},
      step::warps);

  return program.run(argc, argv, [&] {
    const std::size_t size = rows * length;
    program.require_memory(3 * size * sizeof(std::uint32_t), 2 * size * sizeof(std::uint32_t));
    std::vector<std::uint32_t> values(size);
    lab::random_source source(program.seed());
    for (auto& value : values) value = static_cast<std::uint32_t>(source.integer(0, 9));

    const auto run = [&] {
      return lab::block_scan::scan(chosen_step, chosen_kind, values, length,
                                   static_cast<unsigned>(threads));
    };
    const auto result = run();
    std::printf("step %s, %zu rows of %zu values, blocks of %zu threads\n",
                program.step_name().c_str(), rows, length, threads);
    const auto show = [&](const char* name, const std::vector<std::uint32_t>& row) {
      std::printf("%-8s", name);
      for (std::size_t i = 0; i < std::min<std::size_t>(length, 12); ++i)
        std::printf(" %3u", row[i]);
      std::printf(length > 12 ? "  …\n" : "\n");
    };
    if (rows > 0) {
      show("values", values);
      show("scanned", result.values);
    }
    if (!program.verdict(lab::compare_exact(
            result.values, lab::block_scan::reference_scan(chosen_kind, values, length))))
      return false;
    program.report_kernel([&] { return run().kernel_ms; },
                          {.bytes = 2.0 * static_cast<double>(size) * sizeof(std::uint32_t)});
    return true;
  });
}
