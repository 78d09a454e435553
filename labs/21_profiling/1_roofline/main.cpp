// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 21.1 roofline: the program.

#include <cuda_runtime.h>
#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/random.hpp"
#include "lab/time_kernel.hpp"
#include "reference.hpp"
#include "roofline.hpp"
#include "rows.hpp"

namespace {

using namespace lab::roofline;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// The elements are repetitions of so many. A prime: then no block and no stride has the same ones.
constexpr std::size_t kPeriod = 4099;

/// Bytes of the sectors that kernels have asked global memory for, as the check build of the CPU
/// device counts them; nothing elsewhere.
std::optional<double> counted_bytes() {
#ifdef __CPU_DEVICE__
  double sectors = 0;
  for (const cpu_device::access_counters& each : cpu_device::read_counters())
    if (each.kind == cpu_device::access_kind::global_load ||
        each.kind == cpu_device::access_kind::global_store)
      sectors += static_cast<double>(each.sectors);
  if (sectors > 0) return 32 * sectors;
#endif
  return std::nullopt;
}

void begin_counting() {
#ifdef __CPU_DEVICE__
  cpu_device::reset_counters();
  cpu_device::count_accesses(true);
#endif
}

/// One number of rounds.
struct measured {
  unsigned rounds;
  work done;
  double ms;
  std::optional<double> counted;  ///< bytes, by the counters
};

/// 0, 1, 2, 4, … and at last `most`.
std::vector<unsigned> all_rounds(unsigned most) {
  std::vector<unsigned> all = {0};
  for (unsigned rounds = 1; rounds < most; rounds *= 2) all.push_back(rounds);
  if (most > 0) all.push_back(most);
  return all;
}

const char* name_of(bound limit) { return limit == bound::memory ? "memory" : "arithmetic"; }

/// The curve of the roof, for the plot.
lab::chart_line roof_line(const std::string& name, const ceilings& roof) {
  lab::chart_line line{name, {}};
  for (double intensity = 1.0 / 32; intensity <= 1024; intensity *= 2)
    line.points.emplace_back(intensity, locate({intensity, 1}, 0, roof).most_per_second / 1e9);
  const double ridge = roof.operations_per_second / roof.bytes_per_second;
  line.points.emplace_back(ridge, roof.operations_per_second / 1e9);
  std::sort(line.points.begin(), line.points.end());
  return line;
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("21.1_roofline",
                       "Measures the roof over kernels, and places them below it.");
  const bool on_cpu = lab::on_cpu_device();
  std::size_t size = on_cpu ? kDefaultSize : kDefaultGpuSize;
  std::size_t most_rounds = kDefaultRounds;
  double bandwidth = 0, peak = 0;
  std::string rows_file;
  program.add_size("--size", size, "number of elements").at_least(1);
  program.add_size("--rounds", most_rounds, "the most rounds that are measured").at_most(1 << 20);
  program.add_number("--bandwidth", bandwidth, "GB/s of the roof; 0: as measured").at_least(0);
  program.add_number("--peak", peak, "GFLOP/s of the roof; 0: as measured").at_least(0);
  program.add_text("--rows", rows_file, "a file of kernels: name,operations,bytes,ms");
  const auto& chosen_step = program.add_step<step>(
      {{"one_element", step::one_element, "a thread has one element"},
       {"four_elements", step::four_elements, "a thread has four neighbours"}},
      step::four_elements);
  program.add_table_options();

  return program.run(argc, argv, [&] {
    program.require_memory(3 * size * sizeof(float), 2 * size * sizeof(float));
    std::vector<counted_kernel> rows;
    if (!rows_file.empty()) rows = read_rows(rows_file);

    const std::vector<float> part = lab::random_floats(kPeriod, program.seed(), -2, 2);
    std::vector<float> values(size);
    for (std::size_t i = 0; i < size; ++i) values[i] = part[i % kPeriod];
    std::printf("step %s, %zu elements\n", program.step_name().c_str(), size);

    std::vector<measured> all;
    for (const unsigned rounds : all_rounds(static_cast<unsigned>(most_rounds))) {
      begin_counting();
      const result got = apply(chosen_step, values, rounds);
      measured one{rounds, work_of(size, rounds), got.kernel_ms, counted_bytes()};
      const std::vector<float> expected_part = reference(part, rounds);
      std::vector<float> expected(size);
      for (std::size_t i = 0; i < size; ++i) expected[i] = expected_part[i % kPeriod];
      if (const auto right = lab::compare_exact(got.values, expected); !right)
        return program.verdict(false, std::to_string(rounds) + " rounds: " + right.message);
      if (!on_cpu) {
        const lab::repeated_timing repeated(program.repeat());
        one.ms = apply(chosen_step, values, rounds).kernel_ms;
      }
      all.push_back(one);
    }
    program.verdict(true, "all elements are those of the host, after 0 to " +
                              std::to_string(most_rounds) + " rounds");
    program.report_kernel(
        [&] { return apply(chosen_step, values, static_cast<unsigned>(most_rounds)).kernel_ms; },
        {.bytes = all.back().done.bytes,
         .items = all.back().done.operations,
         .item_name = "floating-point operations"});
    if (most_rounds == 0) return true;  // no roof without operations

    std::vector<measurement> timed;
    for (const measured& each : all) timed.push_back({each.done, each.ms});
    ceilings roof = on_cpu ? kDataSheet : roof_of(timed);
    if (bandwidth > 0) roof.bytes_per_second = bandwidth * 1e9;
    if (peak > 0) roof.operations_per_second = peak * 1e9;
    std::printf("roof: %.0f GB/s, %.0f GFLOP/s%s\n", roof.bytes_per_second / 1e9,
                roof.operations_per_second / 1e9,
                bandwidth > 0 || peak > 0 ? ""
                : on_cpu ? " (an H200's data sheet: the CPU device's times are not GPU times)"
                         : " (measured)");

    lab::table out({"kernel", "operations", "bytes", "operations/byte", "limit", "most GFLOP/s",
                    on_cpu ? "bytes counted" : "GFLOP/s", on_cpu ? "CPU device ms" : "ms",
                    "share of the roof"});
    lab::chart_line dots{on_cpu ? "the most that is possible" : "measured", {}};
    lab::chart_line others{rows.empty() ? "kernels of this course, at most" : "counted", {}};
    const auto add = [&](const std::string& name, const work& done, double ms,
                         std::optional<double> counted, lab::chart_line& line) {
      const point p = locate(done, on_cpu ? 0 : ms, roof);
      out.add({name, done.operations, done.bytes, p.intensity, name_of(p.limit),
               p.most_per_second / 1e9,
               on_cpu   ? counted.value_or(kNone)
               : ms > 0 ? p.reached_per_second / 1e9
                        : kNone,
               ms > 0 ? ms : kNone, p.share > 0 ? p.share : kNone});
      line.points.emplace_back(p.intensity,
                               (p.share > 0 ? p.reached_per_second : p.most_per_second) / 1e9);
    };
    for (const measured& each : all)
      add(std::to_string(each.rounds) + " rounds", each.done, each.ms, each.counted, dots);
    if (rows.empty())
      for (const known_kernel& each : kCourse)
        add(each.name, least_work(each.kernel, 4096), 0, std::nullopt, others);
    else  // counted and timed where they ran
      for (const counted_kernel& each : rows) {
        const point p = locate(each.done, each.ms, roof);
        out.add({each.name, each.done.operations, each.done.bytes, p.intensity, name_of(p.limit),
                 p.most_per_second / 1e9, on_cpu ? each.done.bytes : p.reached_per_second / 1e9,
                 each.ms > 0 ? each.ms : kNone, p.share > 0 ? p.share : kNone});
        others.points.emplace_back(p.intensity,
                                   (p.share > 0 ? p.reached_per_second : p.most_per_second) / 1e9);
      }
    program.emit_table(out, {.title = on_cpu ? "The roofline of a data sheet: nothing was measured"
                                             : "The roofline of this device",
                             .x_label = "operations per byte",
                             .y_label = "GFLOP/s",
                             .log_x = true,
                             .log_y = true,
                             .lines = {roof_line("roof", roof), dots, others}});
    return true;
  });
}
