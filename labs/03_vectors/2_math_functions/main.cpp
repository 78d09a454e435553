// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 03.2 math_functions: the program.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "math_functions.hpp"
#include "reference.hpp"

namespace {

using namespace lab::math_functions;

/// 10^9 doubles and their references fit into few machines: they are computed in pieces. A multiple
/// of 360, so that each piece has the same values.
constexpr std::size_t kPiece = 360 * 10'000;

struct named_precision {
  precision value;
  const char* prefix;
  const char* suffix;
};
constexpr named_precision kPrecisions[] = {
    {precision::intrinsic, "__", "f"}, {precision::single, "", "f"}, {precision::full, "", ""}};

struct measurement {
  errors found;
  double worst_ulps = 0;   // over the circle, in ulp of what p computes in
  double worst_share = 0;  // of error_bound(), over the circle
  double kernel_ms = 0;
  std::vector<double> circle;  // absolute errors at each of the 360 degrees
};

measurement run(function f, precision p, std::size_t size) {
  evaluate(f, p, 0, std::min(size, kPiece));  // to warm up
  measurement all;
  double sum = 0;
  for (std::size_t first = 0; first < size; first += kPiece) {
    const std::size_t n = std::min(kPiece, size - first);
    const result piece = evaluate(f, p, first, n);
    const std::vector<long double> exact_values = reference(f, first, n);
    const errors found = measure(piece.values, exact_values);
    sum += found.mean * static_cast<double>(n);
    if (found.max > all.found.max) all.found = {0, found.max, first + found.worst};
    all.kernel_ms += static_cast<double>(piece.kernel_ms);

    for (std::size_t i = 0; i < piece.values.size(); ++i) {
      const double error = std::fabs(static_cast<double>(piece.values[i] - exact_values[i]));
      // The bound needs more time than the function: once for each degree is enough, but a value
      // that differs from its first occurrence must not get away.
      if (first == 0 && i < 360) {
        const double bound = error_bound(f, p, argument(f, i));
        const double share = error == 0 ? 0 : error / bound;
        const int digits = p == precision::full ? 53 : 24;
        all.worst_ulps = std::max(all.worst_ulps, error / ulp(exact_values[i], digits));
        all.worst_share = std::isnan(share) ? std::numeric_limits<double>::infinity()
                                            : std::max(all.worst_share, share);
        all.circle.push_back(error);
      } else if (!(error == all.circle[(first + i) % 360])) {
        all.worst_share = std::numeric_limits<double>::infinity();
      }
    }
  }
  if (size > 0) all.found.mean = sum / static_cast<double>(size);
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("03.2_math_functions",
                       "How exact are the mathematical functions of the device, and how fast?");
  std::size_t size = 360 * 1000;
  program.add_size("--size", size, "number of elements; the text has 1000000000");
  enum class selection { all, sine, exponential, exponential10, logarithm, power };
  const auto& chosen =
      program.add_choice<selection>("--function",
                                    {{"all", selection::all, "one after the other"},
                                     {"sin", selection::sine, "sine"},
                                     {"exp", selection::exponential, "e to the power x"},
                                     {"exp10", selection::exponential10, "10 to the power x"},
                                     {"log", selection::logarithm, "logarithm to base e"},
                                     {"pow", selection::power, "x to the power 2.5"}},
                                    selection::all, "what to compute");
  program.add_table_options();

  return program.run(argc, argv, [&] {
    const std::size_t piece = std::min(size, kPiece);
    program.require_memory(piece * (2 * sizeof(double) + sizeof(long double)),
                           piece * sizeof(double));
    constexpr struct {
      selection choice;
      function value;
      const char* name;
    } kFunctions[] = {{selection::sine, function::sine, "sin"},
                      {selection::exponential, function::exponential, "exp"},
                      {selection::exponential10, function::exponential10, "exp10"},
                      {selection::logarithm, function::logarithm, "log"},
                      {selection::power, function::power, "pow"}};
    lab::table table({"function", "mean error", "max error", "at degrees", "max in ulp",
                      "of the bound", "ms", "10^9/s"});
    lab::chart chart{.title = "Error over the argument",
                     .x_label = "degrees",
                     .y_label = "absolute error",
                     .log_y = true};
    bool right = true;
    for (const auto& f : kFunctions) {
      if (chosen != selection::all && chosen != f.choice) continue;
      double coarser = std::numeric_limits<double>::infinity();
      for (const auto& p : kPrecisions) {
        const std::string name = std::string(p.prefix) + f.name + p.suffix;
        const measurement m = run(f.value, p.value, size);
        const bool on_gpu = !lab::on_cpu_device();
        constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
        table.add({name, m.found.mean, m.found.max,
                   static_cast<std::int64_t>(m.found.worst % 360 +
                                             (f.value == function::logarithm ? 1 : 0)),
                   m.worst_ulps, m.worst_share, on_gpu && size > 0 ? m.kernel_ms : kNothing,
                   on_gpu && size > 0 ? static_cast<double>(size) / m.kernel_ms / 1e6 : kNothing});
        if (!(m.worst_share <= 1)) {
          std::printf("%s is further off than its bound, or not the same each time\n",
                      name.c_str());
          right = false;
        }
        if (size >= 360 && !(m.found.mean < coarser)) {
          std::printf("%s is no better than the version before it\n", name.c_str());
          right = false;
        }
        coarser = m.found.mean;
        // One curve for each version; of all functions together, the sine's.
        if (chosen == f.choice || f.choice == selection::sine) {
          lab::chart_line line{name, {}};
          for (std::size_t i = 0; i < m.circle.size(); ++i)
            line.points.emplace_back(
                static_cast<double>(i + (f.value == function::logarithm ? 1 : 0)), m.circle[i]);
          chart.lines.push_back(line);
        }
      }
    }
    std::printf("%zu elements of each\n", size);
    if (size == 0) std::printf("(no elements: nothing to draw)\n");
    if (!program.verdict(right,
                         right ? "every value is within its bound" : "see above, and the table"))
      std::printf("%s", table.text().c_str());
    else if (size > 0)
      program.emit_table(table, chart);
    if (lab::on_cpu_device())
      std::printf("No times: on the CPU device they would say nothing about a GPU.\n");
    return right;
  });
}
