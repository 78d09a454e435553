// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 14.4 sorting_study: the program.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/sort_baseline.hpp"
#include "reference.hpp"
#include "sorting_study.hpp"

namespace {

using lab::sorting_study::kMethods;
using lab::sorting_study::method;
using lab::sorting_study::problem;
using lab::sorting_study::row;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// What the UVT report gives for batches of 1,048,576 pairs, on a GeForce 920M.
struct reported {
  std::size_t length;
  double bitonic_ms, odd_even_ms, radix_ms;
};
constexpr std::size_t kReportSize = std::size_t{1} << 20;
constexpr reported kReport[] = {
    {64, 29.85, 28.5, kNone},      {512, 55.7, 56.1, kNone},      {1024, 67.0, 67.6, kNone},
    {4096, 101.6, 108.1, kNone},   {16384, 143.8, 155.6, kNone},  {65536, 193.6, 210.8, kNone},
    {262144, 250.7, 273.6, kNone}, {524288, 281.9, 307.7, kNone}, {1048576, 316.7, 343.8, 494},
};

std::string name_of(method algorithm) {
  return algorithm == method::bitonic    ? "bitonic"
         : algorithm == method::odd_even ? "odd-even"
                                         : "radix (Thrust)";
}

double report_ms(const row& of) {
  if (of.arrays.count * of.arrays.length != kReportSize) return kNone;
  for (const reported& each : kReport)
    if (each.length == of.arrays.length)
      return of.algorithm == method::bitonic    ? each.bitonic_ms
             : of.algorithm == method::odd_even ? each.odd_even_ms
                                                : each.radix_ms;
  return kNone;
}

std::int64_t whole(std::size_t value) { return static_cast<std::int64_t>(value); }

/// Times and rates.
lab::table gpu_table(std::span<const row> rows, std::span<const problem> problems) {
  lab::table out(
      {"length", "arrays", "method", "ms", "min ms", "max ms", "M elements/s", "UVT report ms"});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const row& each = rows[i];
    const lab::timing time = lab::summarize(each.sample_ms);
    out.add({whole(each.arrays.length), whole(each.arrays.count), name_of(each.algorithm), each.ms,
             time.min_ms, time.max_ms, each.rate, report_ms(each)});
    if ((i + 1) % std::size(kMethods) != 0) continue;
    const problem& workload = problems[i / std::size(kMethods)];
    const auto library =
        lab::library_sort_milliseconds(workload.input.keys, workload.input.values, workload.arrays);
    if (library)
      out.add(
          {whole(each.arrays.length), whole(each.arrays.count), "CUB",
           static_cast<double>(*library), kNone, kNone,
           static_cast<double>(workload.input.keys.size()) / (static_cast<double>(*library) * 1e3),
           kNone});
  }
  return out;
}

/// What holds for every device: no rates, and times that are marked as what they are.
lab::table cpu_device_table(std::span<const row> rows) {
  lab::table out({"length", "arrays", "method", "stages", "comparators", "comparators an element",
                  "CPU device ms"});
  for (const row& each : rows) {
    const auto levels = static_cast<std::size_t>(std::countr_zero(each.arrays.length));
    const bool network = each.algorithm != method::radix;
    const double all =
        network ? lab::sorting_study::comparators(each.algorithm, each.arrays) : kNone;
    const auto stages = static_cast<double>(levels * (levels + 1) / 2);
    out.add({whole(each.arrays.length), whole(each.arrays.count), name_of(each.algorithm),
             network ? stages : kNone, all,
             all / static_cast<double>(each.arrays.count * each.arrays.length), each.ms});
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("14.4_sorting_study",
                       "Measures three sorts over the length of the arrays in a batch.");
  std::size_t size = lab::on_cpu_device() ? std::size_t{1} << 13 : kReportSize;
  program.add_size("--size", size, "elements in all arrays together, a power of two from 64 on")
      .at_least(64)
      .at_most(std::size_t{1} << 30);
  program.add_table_options();

  return program.run(argc, argv, [&] {
    if (!std::has_single_bit(size)) throw lab::invalid_input("--size must be a power of two");
    std::vector<std::size_t> lengths;
    for (const reported& each : kReport)
      if (each.length <= size) lengths.push_back(each.length);
    if (lengths.back() != size) lengths.push_back(size);

    program.require_memory((12 * lengths.size() + 48) * size, 64 * size);
    std::vector<problem> problems;
    for (const std::size_t length : lengths)
      problems.push_back(lab::sorting_study::make_problem({size / length, length}, program.seed()));

    const auto samples = static_cast<unsigned>(program.repeat());
    const auto rows = lab::sorting_study::study(problems, kMethods, samples);
    if (!program.verdict(lab::sorting_study::check(rows, problems, kMethods, samples)))
      return false;
    if (lab::on_cpu_device()) {
      std::printf("CPU device: its times are not GPU times, so there are no rates here\n");
      const lab::table table = cpu_device_table(rows);
      program.emit_table(
          table, {.title = "Comparators of two sorting networks",
                  .x_label = "elements in an array",
                  .y_label = "comparators an element",
                  .log_x = true,
                  .lines = lab::lines_of(table, "method", "length", "comparators an element")});
    } else {
      const lab::table table = gpu_table(rows, problems);
      program.emit_table(table, {.title = "Sorting " + std::to_string(size) + " pairs",
                                 .x_label = "elements in an array",
                                 .y_label = "ms",
                                 .log_x = true,
                                 .log_y = true,
                                 .lines = lab::lines_of(table, "method", "length", "ms")});
    }
    return true;
  });
}
