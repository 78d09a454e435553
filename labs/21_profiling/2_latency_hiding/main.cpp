// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 21.2 latency_hiding: the program.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/launch_limits.hpp"
#include "lab/random.hpp"
#include "lab/time_kernel.hpp"
#include "latency_hiding.hpp"
#include "reference.hpp"

namespace {

using namespace lab::latency_hiding;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// What the tables take for granted where nothing can be measured: an H200 has so many
/// multiprocessors, and NVIDIA's data sheet gives this bandwidth. The latency is an assumption.
constexpr unsigned kAssumedMultiprocessors = 132;
constexpr double kAssumedBandwidth = 4800, kAssumedLatency = 600;

/// A launch that gives each multiprocessor so many warps.
launch_shape shape_of(unsigned warps, unsigned multiprocessors) {
  const unsigned blocks = (warps + 31) / 32;
  return {blocks * multiprocessors, 32 * (warps / blocks)};
}

std::vector<unsigned> warps_to_try(unsigned most) {
  std::vector<unsigned> all;
  for (unsigned warps = 1; warps <= most; warps *= 2) all.push_back(warps);
  if (all.back() != most) all.push_back(most);
  return all;
}

/// The formula of resident_blocks() beside what CUDA says.
bool show_occupancy(lab::program& program) {
  lab::table out({"kernel", "threads", "registers", "shared", "by warps", "by registers",
                  "by shared memory", "blocks", "CUDA says", "occupancy, %"});
  unsigned asked = 0, equal = 0;
  for (const subject kernel : {subject::sum_of_four, subject::many_registers})
    for (const unsigned threads : {32U, 96U, 256U, 1024U})
      for (const std::size_t shared : {std::size_t{0}, std::size_t{10'000}, std::size_t{100'000}}) {
        const answer a = ask_runtime(kernel, threads, shared);
        const occupancy o = resident_blocks(a.needs, a.limits);
        ++asked;
        if (o.blocks == a.blocks) ++equal;
        const auto whole = [](auto value) { return static_cast<std::int64_t>(value); };
        out.add({kernel == subject::sum_of_four ? "sum of four" : "many registers", whole(threads),
                 whole(a.needs.registers), whole(a.needs.shared), whole(o.by_warps),
                 whole(o.by_registers), whole(o.by_shared), whole(o.blocks), whole(a.blocks),
                 100 * o.share});
      }
  std::printf("%s", out.text().c_str());
  return program.verdict(equal == asked, std::to_string(equal) + " of " + std::to_string(asked) +
                                             " occupancies are what CUDA says");
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("21.2_latency_hiding",
                       "Predicts from what is in flight how fast a kernel is, and measures it.");
  const bool on_cpu = lab::on_cpu_device();
  std::size_t size = on_cpu ? kDefaultSize : kDefaultGpuSize;
  std::size_t rounds = on_cpu ? kDefaultRounds : kDefaultGpuRounds;
  double latency = 0, bandwidth = 0, fma_latency = 4;
  program.add_size("--size", size, "number of elements that are added")
      .at_least(1)
      .at_most(std::size_t{1} << 32);
  program.add_size("--rounds", rounds, "rounds of arithmetic").at_least(1).at_most(1 << 20);
  program.add_number("--latency", latency, "of a load, in ns; 0: as measured").at_least(0);
  program.add_number("--bandwidth", bandwidth, "of memory, in GB/s; 0: as measured").at_least(0);
  program.add_number("--fma-latency", fma_latency, "of a multiply-add, in cycles").at_least(1);
  const auto& chosen_step =
      program.add_step<step>({{"one", step::one, "one load or chain at a time"},
                              {"two", step::two, "two at a time"},
                              {"four", step::four, "four at a time"},
                              {"eight", step::eight, "eight at a time"}},
                             step::four);
  program.add_table_options();

  return program.run(argc, argv, [&] {
    // The tour on a GPU: 512 MiB, far more than its caches, with a stop in each line of 128 bytes.
    const std::size_t tour_size = on_cpu ? std::size_t{1} << 14 : std::size_t{1} << 27;
    const unsigned hops = on_cpu ? 500 : 100'000;
    program.require_memory(2 * (size + tour_size) * sizeof(float),
                           std::max(size, tour_size) * sizeof(float));
    const unsigned multiprocessors = lab::device_limit(cudaDevAttrMultiProcessorCount);
    const unsigned most_warps = lab::device_limit(cudaDevAttrMaxThreadsPerMultiProcessor) / 32;

    const std::vector<std::uint32_t> tour = random_tour(tour_size, 32, program.seed());
    chase(std::vector<std::uint32_t>(1), 1);  // to warm up, with other memory
    const journey arrived = chase(tour, hops);
    if (!program.verdict(arrived.end == reference_chase(tour, hops),
                         "the chase ends at element " + std::to_string(arrived.end)))
      return false;
    // The first tour: the stops of a second one would be in the cache.
    if (latency == 0) latency = on_cpu ? kAssumedLatency : 1e6 * arrived.kernel_ms / hops;
    if (bandwidth == 0) bandwidth = on_cpu ? kAssumedBandwidth : lab::copy_bandwidth() / 1e9;
    const unsigned of_device = on_cpu ? kAssumedMultiprocessors : multiprocessors;
    const unsigned loads = in_flight(chosen_step);
    std::printf("a load: %.0f ns; bandwidth: %.0f GB/s; %u multiprocessors%s\n", latency, bandwidth,
                of_device, on_cpu ? " (assumed: the CPU device's times are not GPU times)" : "");
    std::printf("in flight for that: %.0f KiB; with step %s: %.0f warps, %.1f a multiprocessor\n",
                bandwidth * latency / 1024, program.step_name().c_str(),
                warps_needed(bandwidth * 1e9, latency, loads, sizeof(float)),
                warps_needed(bandwidth * 1e9, latency, loads, sizeof(float)) / of_device);

    const std::vector<std::uint32_t> values = lab::random_words(size, program.seed());
    const std::uint32_t expected = reference_sum(values);
    // Elements for the arithmetic: some for each thread of the largest grid, in repetitions of a
    // part whose length is a prime.
    const auto some_rounds = static_cast<unsigned>(rounds);
    const std::vector<float> part = lab::random_floats(4099, program.seed(), -1, 1);
    const std::vector<float> expected_part = reference_advance(part, some_rounds);
    std::vector<float> floats(std::size_t{multiprocessors} * most_warps * 32 * (on_cpu ? 1 : 8));
    std::vector<float> expected_floats(floats.size());
    for (std::size_t i = 0; i < floats.size(); ++i) {
      floats[i] = part[i % part.size()];
      expected_floats[i] = expected_part[i % part.size()];
    }
    const double operations = 2.0 * static_cast<double>(rounds * floats.size());

    const auto timed = [&](const auto& call) {
      const lab::repeated_timing repeated(program.repeat());
      return static_cast<double>(call().kernel_ms);
    };
    double best_rate = 0;  // of arithmetic
    if (!on_cpu)
      best_rate =
          operations / timed([&] {
            return advance(step::eight, floats, some_rounds, shape_of(most_warps, multiprocessors));
          });

    lab::table out({"warps", "occupancy, %", "KiB in flight", "predicted GB/s",
                    on_cpu ? "CPU device ms" : "GB/s", "FMAs: predicted, %",
                    on_cpu ? "FMAs: CPU device ms" : "FMAs: measured, %"});
    lab::chart_line predicted{"predicted", {}}, measured{"measured", {}};
    for (const unsigned warps : warps_to_try(most_warps)) {
      const launch_shape shape = shape_of(warps, multiprocessors);
      const total got = sum(chosen_step, values, shape);
      if (got.value != expected)
        return program.verdict(false, std::to_string(warps) + " warps: the sum is " +
                                          std::to_string(got.value) + ", and the host's is " +
                                          std::to_string(expected));
      const advanced chains = advance(chosen_step, floats, some_rounds, shape);
      if (const auto right = lab::compare_exact(chains.values, expected_floats); !right)
        return program.verdict(false, std::to_string(warps) + " warps: " + right.message);
      const double in_flight_bytes =
          bytes_in_flight(static_cast<double>(warps) * of_device, loads, sizeof(float));
      const double rate = predicted_rate(in_flight_bytes, latency, bandwidth * 1e9) / 1e9;
      // Four schedulers: each needs fma_latency instructions that do not depend on each other.
      const double share = std::min(1.0, warps * loads / (4 * fma_latency));
      double ms = got.kernel_ms, fma_ms = chains.kernel_ms;
      if (!on_cpu) {
        ms = timed([&] { return sum(chosen_step, values, shape); });
        fma_ms = timed([&] { return advance(chosen_step, floats, some_rounds, shape); });
      }
      const double measured_rate = on_cpu ? kNone : static_cast<double>(size) * 4 / (ms * 1e6);
      out.add({static_cast<std::int64_t>(warps), 100.0 * warps / most_warps, in_flight_bytes / 1024,
               rate, on_cpu ? ms : measured_rate, 100 * share,
               on_cpu ? fma_ms : 100 * operations / fma_ms / best_rate});
      predicted.points.emplace_back(in_flight_bytes / 1024, rate);
      if (!on_cpu) measured.points.emplace_back(in_flight_bytes / 1024, measured_rate);
    }
    program.verdict(
        true, "all sums are " + std::to_string(expected) + ", and the chains have the host's bits");
    program.report_kernel(
        [&] { return sum(chosen_step, values, shape_of(most_warps, multiprocessors)).kernel_ms; },
        {.bytes = static_cast<double>(size) * sizeof(float)});
    lab::chart plot{.title = on_cpu ? "Little's law for an assumed device: nothing was measured"
                                    : "Bytes in flight: predicted and measured",
                    .x_label = "KiB in flight",
                    .y_label = "GB/s",
                    .log_x = true,
                    .log_y = true,
                    .lines = {predicted}};
    if (!on_cpu) plot.lines.push_back(measured);
    program.emit_table(out, plot);
    return show_occupancy(program);
  });
}
