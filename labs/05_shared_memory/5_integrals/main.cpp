// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.5 integrals: the program.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "integrals.hpp"
#include "lab/command_line.hpp"
#include "reference.hpp"

namespace {

using lab::integrals::integrand;
using lab::integrals::rule;

struct named_rule {
  rule value;
  const char* name;
};
constexpr std::array<named_rule, 3> kRules{
    {{rule::midpoint, "midpoint"}, {rule::trapezoid, "trapezoid"}, {rule::simpson, "simpson"}}};

/// The three rules with 1, 2, 4, … panels: their errors, and how many times smaller each is than
/// the one before. Returns whether every value is the rule's.
bool compare_rules(lab::program& program, integrand f, double a, double b) {
  constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();  // an empty cell
  constexpr std::size_t kMostPanels = 4096;
  const double integral = lab::integrals::exact(f, a, b);
  lab::table rows(
      {"panels", "midpoint", "m. ratio", "trapezoid", "t. ratio", "simpson", "s. ratio"});
  lab::chart plot{.title = "Errors of three rules",
                  .x_label = "panels",
                  .y_label = "error",
                  .log_x = true,
                  .log_y = true};
  for (const auto& quadrature : kRules) plot.lines.push_back({quadrature.name, {}});

  bool right = true;
  std::array<double, kRules.size()> before{kNothing, kNothing, kNothing};
  for (std::size_t n = 1; n <= kMostPanels; n *= 2) {
    std::vector<lab::cell> row{static_cast<std::int64_t>(n)};
    for (std::size_t r = 0; r < kRules.size(); ++r) {
      const double value = lab::integrals::integrate(kRules[r].value, f, a, b, n).value;
      const auto expected = lab::integrals::reference(kRules[r].value, f, a, b, n);
      const auto verdict = lab::compare(value, expected.value, {.absolute = expected.bound});
      if (!verdict) {
        program.verdict(false, std::string(kRules[r].name) + " with " + std::to_string(n) +
                                   " panels: " + verdict.message);
        right = false;
      }
      const double error = value - integral;
      // An error that roundings may have made has no ratio that says anything.
      const bool means_something = std::fabs(error) > 10 * expected.bound;
      row.emplace_back(error);
      row.emplace_back(means_something ? before[r] / error : kNothing);
      before[r] = means_something ? error : kNothing;
      plot.lines[r].points.emplace_back(static_cast<double>(n), std::fabs(error));
    }
    rows.add(std::move(row));
  }
  std::printf("\nvalue minus integral, and how many times smaller it is than the one above:\n");
  program.emit_table(rows, plot);
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("05.5_integrals",
                       "Midpoint, trapezoid and Simpson's rule, one panel per thread.");
  std::size_t size = lab::integrals::kDefaultPanels;
  double from = 0, to = 1;
  program.add_size("--size", size, "number of panels").positive();
  program.add_number("--from", from, "where to begin");
  program.add_number("--to", to, "where to end");
  const auto& quadrature = program.add_choice<rule>(
      "--rule",
      {{"midpoint", rule::midpoint}, {"trapezoid", rule::trapezoid}, {"simpson", rule::simpson}},
      rule::simpson, "how to integrate");
  const auto& f = program.add_choice<integrand>(
      "--integrand",
      {{"bell", integrand::bell, "4 / (1 + x^2): from 0 to 1 it is pi"},
       {"sine", integrand::sine, "sin x"},
       {"exponential", integrand::exponential, "e^x"},
       {"cubic", integrand::cubic, "4x^3 - 3x^2 + 2x - 1"},
       {"half_circle", integrand::half_circle, "sqrt(1 - x^2), from -1 to 1"}},
      integrand::bell, "what to integrate");
  program.add_table_options();

  return program.run(argc, argv, [&] {
    const double value = lab::integrals::integrate(quadrature, f, from, to, size).value;
    const double integral = lab::integrals::exact(f, from, to);
    std::printf("from %g to %g, %zu panels\n", from, to, size);
    std::printf("the rule:     %.16g\n", value);
    std::printf("the integral: %.16g, off by %.2g\n", integral, value - integral);

    const auto expected = lab::integrals::reference(quadrature, f, from, to, size);
    std::printf("off by %.2g from the same rule on the host; roundings may make it %.2g\n",
                std::fabs(value - expected.value), expected.bound);
    if (!program.verdict(lab::compare(value, expected.value, {.absolute = expected.bound})))
      return false;
    program.report_kernel(
        [&] { return lab::integrals::integrate(quadrature, f, from, to, size).kernel_ms; },
        {.items = static_cast<double>(size), .item_name = "panels"});
    return compare_rules(program, f, from, to);
  });
}
