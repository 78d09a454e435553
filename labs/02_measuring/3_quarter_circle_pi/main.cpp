// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 02.3 quarter_circle_pi: the program.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numbers>
#include <string>
#include <vector>

#include "lab/command_line.hpp"
#include "quarter_circle_pi.hpp"
#include "reference.hpp"

int main(int argc, char** argv) {
  using lab::quarter_circle_pi::estimate;
  using lab::quarter_circle_pi::precision;
  constexpr double kPi = std::numbers::pi;
  lab::program program("02.3_quarter_circle_pi", "Pi from the area of a quarter circle.");
  std::size_t size = lab::quarter_circle_pi::kDefaultStrips;
  program.add_size("--size", size, "strips; fewer are tried as well, 1, 10, 100 …")
      .at_least(1)
      .at_most(lab::quarter_circle_pi::kMostStrips);
  const auto& type = program.add_choice<precision>(
      "--in", {{"float", precision::in_float}, {"double", precision::in_double}},
      precision::in_double, "what the last line's time is measured with");
  program.add_table_options();

  return program.run(argc, argv, [&] {
    std::vector<std::size_t> counts;
    for (std::size_t n = 1; n < size; n *= 10) counts.push_back(n);
    counts.push_back(size);

    lab::table rows(
        {"strips", "pi in double", "off by", "allowed", "in float off by", "allowed in float"});
    lab::chart plot{"Pi from n strips", "strips", "error", true, true};
    plot.lines = {{"double", {}}, {"float", {}}, {"bound of the formula", {}}};
    for (const std::size_t n : counts) {
      double error[2] = {}, allowed[2] = {};
      char pi[32] = "";
      for (const precision each : {precision::in_double, precision::in_float}) {
        const std::size_t k = each == precision::in_float;
        const double value = estimate(each, n).pi;
        allowed[k] = lab::quarter_circle_pi::error_bound(each, n);
        error[k] = std::fabs(value - kPi);
        const auto outcome = lab::compare(value, kPi, {.absolute = allowed[k]});
        if (!outcome) return program.verdict(outcome);
        if (k == 0) std::snprintf(pi, sizeof pi, "%.12f", value);
        plot.lines[k].points.emplace_back(static_cast<double>(n), error[k]);
      }
      plot.lines[2].points.emplace_back(static_cast<double>(n),
                                        lab::quarter_circle_pi::truncation_bound(n));
      rows.add({static_cast<std::int64_t>(n), std::string(pi), error[0], allowed[0], error[1],
                allowed[1]});
    }
    if (!program.verdict(true, "every value is as near to pi as it must be")) return false;

    program.emit_table(rows, plot);
    std::printf("pi from %zu strips, in double: %.15f\n", size,
                estimate(precision::in_double, size).pi);
    std::printf("                    in float:  %.15f\n", estimate(precision::in_float, size).pi);
    program.report_kernel([&] { return estimate(type, size).kernel_ms; },
                          {.items = static_cast<double>(size), .item_name = "strips"});
    return true;
  });
}
