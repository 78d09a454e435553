// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 15.2 dot_with_lock: the program.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dot_with_lock.hpp"
#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/dot_program.hpp"
#include "lab/dot_reference.hpp"
#include "lab/table.hpp"
#include "reference.hpp"

namespace {

namespace exercise = lab::dot_with_lock;
using exercise::step;

/// The values that came out, lowest to highest, and whether it was always the same one.
std::string spread_of(const std::vector<float>& values) {
  const auto [low, high] = std::ranges::minmax(values);
  char text[100];
  if (low == high)
    std::snprintf(text, sizeof text, "%zu runs, the same bits in each", values.size());
  else
    std::snprintf(text, sizeof text, "%zu runs, from %.9g to %.9g", values.size(),
                  static_cast<double>(low), static_cast<double>(high));
  return text;
}

/// All steps with few and with many blocks: milliseconds, and what a passage through the lock adds.
/// Returns what is wrong, or nothing.
std::string compare_steps(std::span<const float> a, std::span<const float> b, double expected,
                          int repeat, lab::table& rows) {
  const unsigned least = lab::on_cpu_device() ? 128 : 32;  // where both ends would take long
  const unsigned most = lab::on_cpu_device() ? 2048 : 128 * 1024;
  for (unsigned blocks = least; blocks <= most; blocks *= 4) {
    const double bound = exercise::error_bound(a, b, blocks);
    std::vector<double> ms;
    for (const auto& [name, version] : {std::pair("locked", step::locked),
                                        {"in_order", step::in_order},
                                        {"atomic_add", step::atomic_add}}) {
      std::vector<float> times;
      for (int i = 0; i <= repeat; ++i) {  // the first one warms up
        const auto result = exercise::dot(version, a, b, blocks);
        const auto check = lab::compare(result.value, expected, {.absolute = bound});
        if (!check)
          return std::string(name) + ", " + std::to_string(blocks) + " blocks: " + check.message;
        if (i > 0) times.push_back(result.kernel_ms);
      }
      ms.push_back(lab::summarize(times).median_ms);
    }
    rows.add({static_cast<std::int64_t>(blocks), ms[0], ms[1], ms[2], 1000 * ms[0] / blocks,
              1000 * ms[2] / blocks});
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("15.2_dot_with_lock", "Dot product whose last additions are the device's.");
  const lab::dot_options vectors(program, lab::dot_with_lock::kDefaultSize);
  int blocks = 1024;
  bool sweep = false;
  program
      .add_number("--blocks", blocks,
                  "blocks of the grid, so changes of the total; the book has 32")
      .at_least(1)
      .at_most(exercise::kMostBlocks);
  const auto& chosen_step = program.add_step<step>(
      {{"locked", step::locked, "under a lock, in any order"},
       {"atomic_add", step::atomic_add, "one atomicAdd per block"},
       {"in_order", step::in_order, "part after part, the same result every time"}},
      step::in_order);
  program.add_flag("--sweep", sweep, "then all steps, with more and more blocks (a table)");
  program.add_table_options();

  return program.run(argc, argv, [&] {
    program.require_memory(vectors.bytes(), vectors.bytes());
    const auto grid = static_cast<unsigned>(blocks);
    std::printf("step %s, %zu elements, %u blocks\n", program.step_name().c_str(), vectors.size(),
                grid);

    if (!program.verdict(
            lab::check_exact_dot(vectors.size(), program.seed(), [&](const auto& a, const auto& b) {
              return exercise::dot(chosen_step, a, b, grid).value;
            })))
      return false;

    const auto input = vectors.input(program.seed());
    const std::span<const float> a = input.a, b = input.b;

    const auto result = exercise::dot(chosen_step, a, b, grid);
    const double expected = lab::dot_in_double(a, b);
    if (!lab::is_close(program, result.value, expected, exercise::error_bound(a, b, grid)))
      return false;

    std::vector<float> values;
    const auto time = program.report_kernel(
        [&] {
          const auto again = exercise::dot(chosen_step, a, b, grid);
          values.push_back(again.value);
          return again.kernel_ms;
        },
        {.bytes = static_cast<double>(vectors.bytes())});
    std::printf("%s\n", spread_of(values).c_str());
    if (chosen_step == step::in_order &&
        !program.verdict(
            std::ranges::count(values, result.value) == static_cast<std::ptrdiff_t>(values.size()),
            "a fixed order gives the same bits every time"))
      return false;
    if (vectors.size() > 0)
      program.report_library("cublasSdot", lab::library_dot_milliseconds(a, b), time);

    if (!sweep) return true;
    lab::table rows(
        {"blocks", "locked ms", "in_order ms", "atomic_add ms", "us a lock", "us an atomic"});
    const std::string wrong = compare_steps(a, b, expected, program.repeat(), rows);
    if (!wrong.empty()) return program.verdict(false, wrong);
    lab::chart plot{.title = "One dot product, more and more blocks",
                    .x_label = "blocks",
                    .y_label = "ms",
                    .log_x = true,
                    .log_y = true};
    for (const std::string name : {"locked", "in_order", "atomic_add"}) {
      lab::chart_line line{name, {}};
      for (std::size_t row = 0; row < rows.rows().size(); ++row)
        line.points.emplace_back(
            static_cast<double>(std::get<std::int64_t>(rows.at(row, "blocks"))),
            std::get<double>(rows.at(row, name + " ms")));
      plot.lines.push_back(std::move(line));
    }
    program.emit_table(rows, plot);
    return true;
  });
}
