// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.4 device_scan: the program.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "device_scan.hpp"
#include "lab/command_line.hpp"
#include "lab/random.hpp"
#include "lab/scan_baseline.hpp"
#include "reference.hpp"

int main(int argc, char** argv) {
  using lab::device_scan::kind;
  using lab::device_scan::step;
  lab::program program("16.4_device_scan", "Running sums of a whole array.");
  std::size_t size = std::size_t{1} << 20, threads = 256, late = 0xFFFF'FFFF;
  program.add_size("--size", size, "number of values");
  program.add_size("--threads", threads, "threads in a block, a power of two from 32 to 1024")
      .at_most(0xFFFF'FFFF);
  program.add_size("--late", late, "the tile whose block pauses before it begins; none by default")
      .at_most(0xFFFF'FFFF);
  const auto& chosen_kind = program.add_choice<kind>(
      "--kind",
      {{"inclusive", kind::inclusive, "element i is the sum of the values 0 to i"},
       {"exclusive", kind::exclusive, "element i is the sum of those before it"}},
      kind::exclusive, "which sums");
  const auto& chosen_step = program.add_step<step>(
      {{"three_launches", step::three_launches, "scan the tiles, scan their sums, add"},
       {"decoupled_look_back", step::decoupled_look_back, "each element read and written once"},
       {"vectorized", step::vectorized, "the same, with neighbouring elements per thread"}},
      step::three_launches);

  return program.run(argc, argv, [&] {
    program.require_memory(3 * size * sizeof(std::uint32_t), 3 * size * sizeof(std::uint32_t));
    std::vector<std::uint32_t> values(size);
    lab::random_source source(program.seed());
    for (auto& value : values) value = static_cast<std::uint32_t>(source.integer(0, 9));

    const auto run = [&] {
      return lab::device_scan::scan(chosen_step, chosen_kind, values,
                                    static_cast<unsigned>(threads), static_cast<unsigned>(late));
    };
    const auto result = run();
    std::printf("step %s, %zu values, blocks of %zu threads\n", program.step_name().c_str(), size,
                threads);
    const auto show = [&](const char* name, const std::vector<std::uint32_t>& row) {
      std::printf("%-8s", name);
      for (std::size_t i = 0; i < std::min<std::size_t>(size, 12); ++i) std::printf(" %3u", row[i]);
      std::printf(size > 12 ? "  …\n" : "\n");
    };
    if (size > 0) {
      show("values", values);
      show("scanned", result.values);
    }
    if (!program.verdict(lab::compare_exact(result.values,
                                            lab::device_scan::reference_scan(chosen_kind, values))))
      return false;
    const auto time =
        program.report_kernel([&] { return run().kernel_ms; },
                              {.bytes = 2.0 * static_cast<double>(size) * sizeof(std::uint32_t)});
    if (size > 0)
      program.report_library("cub::DeviceScan", lab::library_scan_milliseconds(values), time);
    return true;
  });
}
