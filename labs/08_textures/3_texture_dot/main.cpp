// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 08.3 texture_dot: the program.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/dot_program.hpp"
#include "lab/dot_reference.hpp"
#include "lab/random.hpp"
#include "lab/report.hpp"
#include "texture_dot.hpp"

namespace {

using lab::texture_dot::dot;
using lab::texture_dot::longest;
using lab::texture_dot::step;

struct named_step {
  step value;
  const char* name;
};
constexpr std::array<named_step, 3> kSteps{{{step::array_array, "array_array"},
                                            {step::array_linear, "array_linear"},
                                            {step::linear_linear, "linear_linear"}}};

/// All steps over sizes, as far as they can: times, and whether the results are the same bits.
bool compare_steps(lab::program& program, std::span<const float> a, std::span<const float> b,
                   const std::string& unit) {
  constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();  // an empty cell
  lab::table rows({"elements", "array_array", "array_linear", "linear_linear"});
  lab::chart plot{.title = "Dot product of textures",
                  .x_label = "elements",
                  .y_label = unit,
                  .log_x = true,
                  .log_y = true};
  for (const auto& each : kSteps) plot.lines.push_back({each.name, {}});
  bool equal = true;
  for (std::size_t n = 1024; n <= a.size(); n *= 2) {
    const auto part_a = a.first(n), part_b = b.first(n);
    const float expected = dot(step::linear_linear, part_a, part_b).value;
    std::vector<lab::cell> row{static_cast<std::int64_t>(n)};
    for (std::size_t s = 0; s < kSteps.size(); ++s) {
      if (n > longest(kSteps[s].value)) {
        row.emplace_back(kNothing);
        continue;
      }
      std::vector<float> times;
      for (int run = 0; run <= program.repeat(); ++run) {
        const auto result = dot(kSteps[s].value, part_a, part_b);
        equal = equal && result.value == expected;
        if (run > 0) times.push_back(result.kernel_ms);  // the first one warms up
      }
      const double median = lab::summarize(times).median_ms;
      row.emplace_back(median);
      plot.lines[s].points.emplace_back(static_cast<double>(n), median);
    }
    rows.add(std::move(row));
  }
  if (rows.rows().empty()) return true;
  std::printf("\n%s of the kernel alone, by where a and b are; empty: too long for an array\n",
              unit.c_str());
  program.emit_table(rows, plot);
  return program.verdict(
      equal, equal ? "all steps give the same bits" : "the steps give different results");
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("08.3_texture_dot", "Dot product of vectors that are read as textures.");
  std::size_t size = lab::texture_dot::kDefaultSize,
              up_to = std::size_t{1} << (lab::on_cpu_device() ? 18 : 26);
  program.add_size("--size", size, "number of elements");
  program.add_size("--up-to", up_to, "the largest size of the table; 0: no table");
  const auto& chosen_step = program.add_step<step>(
      {{"array_array", step::array_array, "both vectors in CUDA arrays"},
       {"array_linear", step::array_linear, "a in a CUDA array, b in linear memory"},
       {"linear_linear", step::linear_linear, "both in linear memory"}},
      step::array_linear);
  program.add_table_options();

  return program.run(argc, argv, [&] {
    const std::size_t most = std::max(size, up_to);
    program.require_memory(2 * most * sizeof(float), 2 * most * sizeof(float));
    if (!program.verdict(lab::check_exact_dot(
            size, program.seed(),
            [&](const auto& a, const auto& b) { return dot(chosen_step, a, b).value; })))
      return false;

    // None is negative: the sum is then far from 0, and far larger than its bound.
    const std::vector<float> all_a = lab::random_floats(most, program.seed(), 0, 1);
    const std::vector<float> all_b = lab::random_floats(most, program.seed() + 1, 0, 1);
    const auto a = std::span(all_a).first(size), b = std::span(all_b).first(size);

    std::printf("step %s, %zu elements of at most %zu\n", program.step_name().c_str(), size,
                longest(chosen_step));
    const auto result = dot(chosen_step, a, b);
    if (!lab::is_close(program, result.value, lab::dot_in_double(a, b), lab::dot_error_bound(a, b)))
      return false;
    program.report_kernel([&] { return dot(chosen_step, a, b).kernel_ms; },
                          {.bytes = 2.0 * static_cast<double>(size) * sizeof(float)});
    return compare_steps(program, std::span(all_a).first(up_to), std::span(all_b).first(up_to),
                         lab::on_cpu_device() ? "CPU device ms" : "ms");
  });
}
