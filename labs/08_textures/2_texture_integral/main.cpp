// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 08.2 texture_integral: the program.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/errors.hpp"
#include "reference.hpp"
#include "samples.hpp"
#include "texture_integral.hpp"

namespace {

using lab::texture_integral::integrand;

/// The rule with 1, 4, 16, … panels: how its error falls, and where the samples' floats end that.
/// Returns whether every value is the rule's.
///
/// The rounding of a sample is as often up as down, by up to 2^-24 of it, in the root of the mean
/// square 1/√3 of that; in a mean of n of them most of it cancels, and 1/√n is left.
bool show_convergence(lab::program& program, integrand f, double from, double to) {
  constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();  // an empty cell
  constexpr std::size_t kMostPanels = std::size_t{1} << 18;
  const double integral = lab::texture_integral::exact(f, from, to);
  lab::table rows({"panels", "error", "ratio", "of the floats"});
  lab::chart plot{.title = "Midpoint rule on samples in float",
                  .x_label = "panels",
                  .y_label = "error",
                  .log_x = true,
                  .log_y = true,
                  .lines = {{"error", {}}, {"the floats' part, typically", {}}}};
  bool right = true;
  double before = kNothing;
  for (std::size_t n = 1; n <= kMostPanels; n *= 4) {
    const auto samples = lab::texture_integral::samples_of(f, from, to, n);
    const double value = lab::texture_integral::integrate(samples, from, to).value;
    const auto expected = lab::texture_integral::reference(samples, from, to);
    const auto verdict = lab::compare(value, expected.value, {.absolute = expected.bound});
    if (!verdict) {
      program.verdict(false, std::to_string(n) + " panels: " + verdict.message);
      right = false;
    }
    const double error = value - integral;
    const double typical = expected.sampling / std::sqrt(3 * static_cast<double>(n));
    const bool means_something = std::fabs(error) > 4 * typical;
    rows.add({static_cast<std::int64_t>(n), error, means_something ? before / error : kNothing,
              typical});
    before = means_something ? error : kNothing;
    plot.lines[0].points.emplace_back(static_cast<double>(n), std::fabs(error));
    plot.lines[1].points.emplace_back(static_cast<double>(n), typical);
  }
  std::printf(
      "\nvalue minus integral; how many times smaller than the one above; and about how much the "
      "samples' rounding to float makes:\n");
  program.emit_table(rows, plot);
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("08.2_texture_integral",
                       "Midpoint rule on samples that are read through a texture.");
  std::size_t size = lab::texture_integral::kDefaultSize;
  double from = 0, to = 1;
  program.add_size("--size", size, "number of samples").positive();
  program.add_number("--from", from, "where to begin");
  program.add_number("--to", to, "where to end");
  const auto& f = program.add_choice<integrand>(
      "--integrand",
      {{"bell", integrand::bell, "4 / (1 + x^2): from 0 to 1 it is pi"},
       {"sine", integrand::sine, "sin x"},
       {"exponential", integrand::exponential, "e^x"},
       {"half_circle", integrand::half_circle, "sqrt(1 - x^2), from -1 to 1"}},
      integrand::bell, "what to integrate");
  program.add_table_options();

  return program.run(argc, argv, [&] {
    if (f == integrand::half_circle && (std::fabs(from) > 1 || std::fabs(to) > 1))
      throw lab::invalid_input("the half circle goes from -1 to 1");
    program.require_memory(size * sizeof(float), size * sizeof(float));
    const auto samples = lab::texture_integral::samples_of(f, from, to, size);
    const double value = lab::texture_integral::integrate(samples, from, to).value;
    const double integral = lab::texture_integral::exact(f, from, to);
    std::printf("from %g to %g, %zu samples\n", from, to, size);
    std::printf("the rule:     %.16g\n", value);
    std::printf("the integral: %.16g, off by %.2g\n", integral, value - integral);

    const auto expected = lab::texture_integral::reference(samples, from, to);
    std::printf("off by %.2g from the same samples added on the host; roundings may make it %.2g\n",
                std::fabs(value - expected.value), expected.bound);
    if (!program.verdict(lab::compare(value, expected.value, {.absolute = expected.bound})))
      return false;
    program.report_kernel(
        [&] { return lab::texture_integral::integrate(samples, from, to).kernel_ms; },
        {.bytes = static_cast<double>(size) * sizeof(float),
         .items = static_cast<double>(size),
         .item_name = "samples"});
    return show_convergence(program, f, from, to);
  });
}
