// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 10.3 monte_carlo_pi: the program.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numbers>
#include <string>

#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "monte_carlo_pi.hpp"
#include "reference.hpp"

namespace {

using lab::monte_carlo_pi::step;

struct named_step {
  step value;
  const char* name;
};
constexpr named_step kSteps[] = {
    {step::per_hit, "per_hit"}, {step::per_warp, "per_warp"}, {step::per_block, "per_block"}};

std::int64_t cell_of(std::uint64_t number) { return static_cast<std::int64_t>(number); }

}  // namespace

int main(int argc, char** argv) {
  lab::program program("10.3_monte_carlo_pi",
                       "Pi by random points, with fewer and fewer atomic additions.");
  std::size_t size =
      lab::on_cpu_device() ? lab::monte_carlo_pi::kDefaultPoints : std::size_t{1} << 28;
  std::size_t blocks = 0, threads = 0;
  program.add_size("--size", size, "number of points").at_most(lab::monte_carlo_pi::kMostPoints);
  program.add_size("--blocks", blocks, "blocks; 0: as many as the device runs at once")
      .at_most(0xFFFF'FFFF);
  program.add_size("--threads", threads, "threads in a block, a multiple of 32; 0: 256")
      .at_most(0xFFFF'FFFF);
  program.add_table_options();

  return program.run(argc, argv, [&] {
    const std::uint64_t seed = program.seed();
    const lab::monte_carlo_pi::grid grid{static_cast<unsigned>(blocks),
                                         static_cast<unsigned>(threads)};
    const std::uint64_t expected = lab::monte_carlo_pi::reference_hits(size, seed);
    lab::table steps({"step", "hits", "atomic additions"});
    bool right = true;
    for (const auto& [version, name] : kSteps) {
      const auto result = lab::monte_carlo_pi::count_hits(version, size, seed, grid);
      steps.add({name, cell_of(result.hits), cell_of(result.atomics)});
      right = right && result.hits == expected &&
              result.atomics == lab::monte_carlo_pi::claimed_atomics(version, result);
    }
    std::printf("%zu points of seed %llu\n%s", size, static_cast<unsigned long long>(seed),
                steps.text().c_str());
    if (!program.verdict(right, right ? "the hits are those of the host, and the atomic additions "
                                        "as many as each step claims"
                                      : "the host counts " + std::to_string(expected) +
                                            " hits; or a step makes more or fewer atomic "
                                            "additions than it claims"))
      return false;
    if (size == 0) return true;
    std::printf("4 * %llu / %zu = %.8f, and pi is %.8f\n",
                static_cast<unsigned long long>(expected), size,
                lab::monte_carlo_pi::estimate(expected, size), std::numbers::pi);

    // More points, a smaller error: here the steps do not differ.
    lab::table accuracy({"points", "4 * hits / points", "off by", "sigma", "off by / sigma"});
    lab::chart plot{.title = "Pi by random points",
                    .x_label = "points",
                    .y_label = "off by",
                    .log_x = true,
                    .log_y = true,
                    .lines = {{"off by", {}}, {"sigma", {}}}};
    const auto add_row = [&](std::uint64_t n) {
      const auto hits = lab::monte_carlo_pi::count_hits(step::per_block, n, seed, grid).hits;
      const double value = lab::monte_carlo_pi::estimate(hits, n);
      const double off = std::fabs(value - std::numbers::pi);
      const double sigma = lab::monte_carlo_pi::sigma(n);
      accuracy.add({cell_of(n), value, off, sigma, off / sigma});
      plot.lines[0].points.emplace_back(static_cast<double>(n), off);
      plot.lines[1].points.emplace_back(static_cast<double>(n), sigma);
    };
    for (std::uint64_t n = 100; n < size; n *= 10) add_row(n);
    add_row(size);
    program.emit_table(accuracy, plot);

    for (const auto& [version, name] : kSteps) {
      std::printf("%-9s  ", name);
      program.report_kernel(
          [&, chosen = version] {
            return lab::monte_carlo_pi::count_hits(chosen, size, seed, grid).kernel_ms;
          },
          {.items = static_cast<double>(size), .item_name = "points"});
    }
    return true;
  });
}
