// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 20.4 scaling_model: the program.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "reference.hpp"
#include "scaling_model.hpp"

namespace {

using lab::scaling_model::job_size;
using lab::scaling_model::measurement;
using lab::scaling_model::scaling;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Jobs of one kind, and what they took.
struct series {
  scaling kind;
  std::size_t message;
  std::vector<measurement> measured;

  std::string name() const {
    return std::string(kind == scaling::strong ? "strong" : "weak") + ", " +
           std::to_string(message) + (message == 1 ? " element" : " elements");
  }
};

/// The job of a series on this many ranks, on a machine with so many devices. In strong scaling,
/// `values` are those of all ranks together; in weak scaling, each rank has as many as a rank of
/// `most`.
job_size job_of(const series& of, int ranks, std::size_t values, int most, int devices) {
  const int shares = of.kind == scaling::strong ? ranks : most;
  return {ranks, std::max<std::size_t>(1, values / static_cast<std::size_t>(shares)), of.message,
          (ranks + devices - 1) / devices};
}

bool is_power_of_two(int n) { return (n & (n - 1)) == 0; }

/// The fit sees powers of two; three times a power of two is held back from it.
std::vector<int> counts_up_to(int most) {
  std::vector<int> counts;
  for (int n = 1; n <= most; ++n)
    if (is_power_of_two(n) || (n % 3 == 0 && is_power_of_two(n / 3))) counts.push_back(n);
  return counts;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("20.4_scaling_model",
                       "Measures strong and weak scaling, and predicts it by a fitted model.");
  std::size_t size = lab::on_cpu_device() ? lab::scaling_model::kDefaultSizeOnCpu
                                          : lab::scaling_model::kDefaultSize;
  std::size_t message = std::size_t{1} << 14, far = 65'536;
  std::size_t most = lab::on_cpu_device() ? 4 : 8;
  program.add_size("--size", size, "values of all ranks together").positive();
  program.add_size("--message", message, "elements of the longer message")
      .at_least(2)
      .at_most(std::size_t{1} << 24);
  program.add_size("--ranks", most, "the largest number of ranks that is measured")
      .at_least(2)
      .at_most(static_cast<std::size_t>(lab::scaling_model::kMostRanks));
  program.add_size("--predict", far, "the largest number of ranks that the model is asked for")
      .positive()
      .at_most(std::size_t{1} << 30);
  program.add_table_options();

  return program.run(argc, argv, [&] {
    program.require_memory(2 * size * sizeof(unsigned), size * sizeof(unsigned));
    const int last = static_cast<int>(most), devices = lab::device_count();
    std::vector<series> all;
    for (const scaling kind : {scaling::strong, scaling::weak})
      for (const std::size_t elements : {std::size_t{1}, message})
        all.push_back({kind, elements, {}});

    // All jobs with one number of ranks follow each other, so that their processes stay.
    const auto repetitions = 5 * static_cast<unsigned>(program.repeat());
    std::printf("median of %u repetitions of each job\n", repetitions);
    std::vector<measurement> seen, held_back;
    bool right = true;
    for (const int ranks : counts_up_to(last))
      for (series& each : all) {
        const job_size job = job_of(each, ranks, size, last, devices);
        const auto got = lab::scaling_model::measure(job, repetitions);
        right = right && got.sum == lab::scaling_model::reference_sum(job, repetitions);
        each.measured.push_back({job, median(got.seconds)});
        (is_power_of_two(ranks) ? seen : held_back).push_back(each.measured.back());
      }
    if (!program.verdict(right, right ? "every repetition added up what it should"
                                      : "a repetition did not add up what it should"))
      return false;
    if (lab::on_cpu_device())
      std::printf(
          "CPU device: its ranks share this machine's processors; times are not GPU times\n");

    const lab::scaling_model::model model = lab::scaling_model::fit(seen);
    const double us = 1e6;
    std::printf(
        "model: seconds = overhead + values * sharing * per_value + levels * (per_level + bytes * "
        "per_byte)\n"
        "  overhead  %9.3g us\n  per_value %9.3g us   (%.3g GB/s)\n"
        "  per_level %9.3g us\n  per_byte  %9.3g us   (%.3g GB/s)\n",
        model.overhead * us, model.per_value * us, 4e-9 / model.per_value, model.per_level * us,
        model.per_byte * us, 1e-9 / model.per_byte);
    if (std::min({model.overhead, model.per_value, model.per_level, model.per_byte}) < 0)
      std::printf(
          "  A cost below zero means nothing: here, this term is smaller than the noise.\n");
    std::printf("worst error of the model: %.1f %% on the %zu measurements of the fit\n",
                100 * lab::scaling_model::worst_error(model, seen), seen.size());
    if (held_back.empty())
      std::printf("no measurement was held back: take --ranks 3 or more\n");
    else
      std::printf(
          "                          %.1f %% on %zu measurements that the fit has not seen\n",
          100 * lab::scaling_model::worst_error(model, held_back), held_back.size());
    std::printf(
        "Up to %d ranks share a device. Beyond %d ranks nothing was measured: rows called MODEL "
        "are\n"
        "predictions, for a machine on which each rank has a device of its own.\n",
        (last + devices - 1) / devices, last);

    lab::table rows({"job", "source", "ranks", "values of a rank", "ms", "model ms", "error %",
                     "speed-up", "efficiency"});
    std::vector<lab::chart_line> lines;
    for (const series& each : all) {
      lab::chart_line fitted{each.name() + ": measured", {}}, kept{each.name() + ": held back", {}};
      lab::chart_line predicted{each.name() + ": MODEL", {}};
      const auto scaled = lab::scaling_model::speedups(each.kind, each.measured);
      for (std::size_t i = 0; i < each.measured.size(); ++i) {
        const auto& [job, seconds] = each.measured[i];
        const double expected = lab::scaling_model::predict(model, job);
        const bool was_seen = is_power_of_two(job.ranks);
        rows.add({each.name(), was_seen ? "measured" : "held back", std::int64_t{job.ranks},
                  static_cast<std::int64_t>(job.values), seconds * 1e3, expected * 1e3,
                  100 * (expected / seconds - 1), scaled[i].speedup, scaled[i].efficiency});
        (was_seen ? fitted : kept).points.emplace_back(job.ranks, seconds * 1e3);
      }
      for (std::size_t ranks = 1; ranks <= far; ranks *= 4) {
        const int count = static_cast<int>(ranks);
        const job_size job = job_of(each, count, size, last, count);  // each rank has a device
        const double ms = lab::scaling_model::predict(model, job) * 1e3;
        predicted.points.emplace_back(static_cast<double>(ranks), ms);
        if (ranks > most)
          rows.add({each.name(), "MODEL", static_cast<std::int64_t>(ranks),
                    static_cast<std::int64_t>(job.values), kNone, ms, kNone, kNone, kNone});
      }
      for (auto* line : {&predicted, &fitted, &kept})  // a plot of all of them would be crowded
        if (!line->points.empty() && each.message == message) lines.push_back(*line);
    }
    program.emit_table(rows, {.title = "A MODEL, fitted to 1 to " + std::to_string(last) +
                                       " ranks: beyond them, nothing was measured",
                              .x_label = "ranks",
                              .y_label = "ms",
                              .log_x = true,
                              .log_y = true,
                              .lines = lines});
    return true;
  });
}
