// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.9 matmul_race: the program.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lab/closeness.hpp"
#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/host_matmul.hpp"
#include "lab/known_product.hpp"
#include "lab/report.hpp"
#include "matmul_race.hpp"

namespace {

using lab::matmul_race::kRacers;
using lab::matmul_race::racer;
using lab::matmul_race::shape;

std::string name_of(racer contender) {
  switch (contender) {
    case racer::own_kernel:
      return "own kernel";
    case racer::cublas:
      return "cuBLAS";
    case racer::cublas_xt:
      return "cuBLAS-Xt";
    case racer::host:
      return "host (" + lab::host_matmul_name() + ")";
  }
  return "nobody";
}

/// A loop on the host would take minutes for the largest products: it does not take part then.
bool takes_part(racer contender, double operations) {
  return contender != racer::host || operations < 5e9 || lab::host_matmul_name() != "plain loop";
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("13.9_matmul_race",
                       "Times one matrix product, made by a kernel, by libraries and by the host.");
  constexpr std::size_t kMost = std::size_t{1} << 15;
  const bool on_cpu = lab::on_cpu_device();
  std::size_t smallest = on_cpu ? 32 : 128,
              largest = on_cpu ? lab::matmul_race::kDefaultLargest : 4096;
  double seconds = on_cpu ? 0.3 : 2;
  program.add_size("--smallest", smallest, "m, n and k of the first product")
      .positive()
      .at_most(kMost);
  program.add_size("--largest", largest, "where doubling them ends").positive().at_most(kMost);
  program.add_number("--seconds", seconds, "about how long a racer may take for its laps of a size")
      .at_least(0)
      .at_most(3600);
  program.add_table_options();

  return program.run(argc, argv, [&] {
    if (smallest > largest) throw lab::invalid_input("--smallest is larger than --largest");
    const std::size_t most = largest * largest * sizeof(float);
    program.require_memory(5 * most, 4 * most);
    std::vector<std::string> columns{
        "n", "who", "operations", "laps", on_cpu ? "ms (no GPU times)" : "ms", "min ms", "max ms"};
    if (!on_cpu) columns.push_back("GFLOP/s");
    lab::table rows(columns);
    std::size_t products = 0;
    for (std::size_t n = smallest; n <= largest; n *= 2) {
      const auto given = lab::make_known_product(n, n, n, program.seed());
      const shape size{n, n, n};
      const auto order = static_cast<double>(n);
      const double operations = 2 * order * order * order;
      for (const racer contender : kRacers) {
        if (!takes_part(contender, operations)) continue;
        const auto race = [&](std::size_t laps) {
          auto result = lab::matmul_race::race(contender, given.a, given.b, size, laps);
          if (result.total_ms.size() != laps)
            throw std::runtime_error(name_of(contender) + ": " +
                                     std::to_string(result.total_ms.size()) + " times for " +
                                     std::to_string(laps) + " laps");
          return result;
        };
        // A first lap, which warms up and says how many there is time for; then those that count.
        const auto first = race(1);
        const double lap_ms = std::max(static_cast<double>(first.total_ms[0]), 1e-3);
        const auto affordable = static_cast<std::size_t>(std::min(seconds * 1000 / lap_ms, 1e6));
        const std::size_t laps =
            std::clamp<std::size_t>(affordable, 1, static_cast<std::size_t>(program.repeat()));
        auto result = race(laps + 1);
        for (const auto& c : {first.c, result.c}) {
          const auto same = lab::compare_exact(c, given.c);
          if (!same)
            return program.verdict(
                false, name_of(contender) + ", n = " + std::to_string(n) + ": " + same.message);
        }
        ++products;
        const auto add = [&](const std::string& name, std::span<const float> times) {
          const lab::timing time = lab::summarize(times.subspan(1));  // without the first lap
          std::vector<lab::cell> row{static_cast<std::int64_t>(n),
                                     name,
                                     static_cast<std::int64_t>(operations),
                                     static_cast<std::int64_t>(laps),
                                     time.median_ms,
                                     time.min_ms,
                                     time.max_ms};
          if (!on_cpu) row.emplace_back(operations / (time.median_ms * 1e6));
          rows.add(std::move(row));
        };
        if (result.product_ms.size() == laps + 1) {
          add(name_of(contender), result.product_ms);
          add(name_of(contender) + " + copies", result.total_ms);
        } else {
          add(name_of(contender), result.total_ms);
        }
      }
    }
    if (!program.verdict(true, std::to_string(products) +
                                   " races, and every product is exact: all racers agree"))
      return false;
    if (on_cpu) std::printf("CPU device: its times are not GPU times; their order means nothing\n");
    program.emit_table(
        rows, on_cpu ? lab::chart{.title = "Times of the CPU device, which are not GPU times",
                                  .x_label = "n",
                                  .y_label = "ms",
                                  .log_x = true,
                                  .log_y = true,
                                  .lines = lab::lines_of(rows, "who", "n", "ms (no GPU times)")}
                     : lab::chart{.title = "C = A B, n x n floats",
                                  .x_label = "n",
                                  .y_label = "GFLOP/s",
                                  .log_x = true,
                                  .log_y = true,
                                  .lines = lab::lines_of(rows, "who", "n", "GFLOP/s")});
    return true;
  });
}
