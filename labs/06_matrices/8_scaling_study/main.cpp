// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.8 scaling_study: the program.

#include <cuda_runtime.h>
#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/matmul_baseline.hpp"
#include "reference.hpp"
#include "scaling_study.hpp"

namespace {

using lab::scaling_study::kBlocks;
using lab::scaling_study::plan;
using lab::scaling_study::problem;
using lab::scaling_study::row;
using lab::scaling_study::shape;

/// The products of the UVT report. It gives matrices as width × height: B 640 × 320 has 320 rows.
constexpr shape kReport[] = {{64, 128, 64}, {160, 320, 160}, {320, 640, 320}};

std::int64_t whole(std::size_t value) { return static_cast<std::int64_t>(value); }

std::string name_of_block(unsigned block) {
  return std::to_string(block) + " x " + std::to_string(block);
}

/// Numbers of A and B that a launch reads from global memory: each row of A once for every block
/// above which it runs, each column of B likewise.
std::int64_t numbers_read(shape size, unsigned block) {
  const auto blocks_for = [block](std::size_t elements) { return (elements + block - 1) / block; };
  return whole(size.m * size.k * blocks_for(size.n) + size.k * size.n * blocks_for(size.m));
}

/// Times and rates.
lab::table gpu_table(std::span<const row> rows, std::span<const problem> problems) {
  lab::table out({"m", "n", "k", "block", "operations", "launches", "ms", "min ms", "max ms",
                  "GFLOP/s", "of cuBLAS"});
  for (const problem& each : problems) {
    const auto [m, n, k] = each.size;
    const std::optional<float> library = lab::library_matmul_milliseconds(each.a, each.b, m, n, k);
    const double none = std::numeric_limits<double>::quiet_NaN();
    std::int64_t operations = 0;
    for (const row& measured : rows) {
      if (!(measured.size == each.size)) continue;
      operations = static_cast<std::int64_t>(measured.operations);
      const lab::timing time = lab::summarize(measured.sample_ms);
      out.add({whole(m), whole(n), whole(k), name_of_block(measured.block), operations,
               whole(measured.launches), measured.ms, time.min_ms / measured.launches,
               time.max_ms / measured.launches, measured.gflops,
               library ? *library / measured.ms : none});
    }
    if (library)
      out.add({whole(m), whole(n), whole(k), "cuBLAS", operations, whole(1),
               static_cast<double>(*library), none, none,
               static_cast<double>(operations) / (static_cast<double>(*library) * 1e6), 1.0});
  }
  return out;
}

/// What holds for every device: no rates, and times that are marked as what they are.
lab::table cpu_device_table(std::span<const row> rows) {
  lab::table out({"m", "n", "k", "block", "threads", "blocks", "operations", "numbers read",
                  "FLOP a byte", "CPU device ms"});
  for (const row& each : rows) {
    const std::size_t across = (each.size.n + each.block - 1) / each.block;
    const std::size_t down = (each.size.m + each.block - 1) / each.block;
    const std::int64_t read = numbers_read(each.size, each.block);
    out.add({whole(each.size.m), whole(each.size.n), whole(each.size.k), name_of_block(each.block),
             whole(std::size_t{each.block} * each.block), whole(across * down),
             static_cast<std::int64_t>(each.operations), read,
             each.operations / (4 * static_cast<double>(read)), each.ms});
  }
  return out;
}

/// In the check build of the CPU device: what a request of a warp costs, for each block size.
void print_counters([[maybe_unused]] const problem& product) {
#ifdef __CPU_DEVICE__
  using cpu_device::access_kind;
  // Counts since the program began, of all accesses of one kind.
  const auto sum_of = [](access_kind kind, std::uint64_t cpu_device::access_counters::*count) {
    double sum = 0;
    for (const cpu_device::access_counters& each : cpu_device::read_counters())
      if (each.kind == kind) sum += static_cast<double>(each.*count);
    return sum;
  };
  const auto read = [&] {
    using counters = cpu_device::access_counters;
    return std::vector<double>{sum_of(access_kind::global_load, &counters::requests),
                               sum_of(access_kind::global_load, &counters::lanes),
                               sum_of(access_kind::global_load, &counters::sectors),
                               sum_of(access_kind::global_load, &counters::bytes_used),
                               sum_of(access_kind::shared_load, &counters::requests),
                               sum_of(access_kind::shared_load, &counters::wavefronts)};
  };
  cpu_device::count_accesses(true);
  lab::table out({"block", "lanes a global load", "sectors a global load", "of their bytes used",
                  "wavefronts a shared load"});
  for (const unsigned block : kBlocks) {
    const std::vector<double> before = read();
    lab::scaling_study::study({&product, 1}, {&block, 1}, {.samples = 1, .sample_ms = 0});
    std::vector<double> count = read();
    for (std::size_t i = 0; i < count.size(); ++i) count[i] -= before[i];
    const auto [loads, lanes, sectors, bytes, shared_loads, wavefronts] =
        std::array{count[0], count[1], count[2], count[3], count[4], count[5]};
    if (loads == 0) {
      std::printf("(`scripts/lab profile 06.8` counts sectors and wavefronts)\n");
      return;
    }
    constexpr double kSectorBytes = 32;
    out.add({name_of_block(block), lanes / loads, sectors / loads, bytes / (sectors * kSectorBytes),
             wavefronts / shared_loads});
  }
  std::printf("%s", out.text().c_str());
#endif
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("06.8_scaling_study",
                       "Measures a matrix product in tiles over sizes and block sizes.");
  constexpr std::size_t kMost = std::size_t{1} << 15;
  const bool on_cpu = lab::on_cpu_device();
  std::size_t smallest = on_cpu ? 32 : 64, largest = on_cpu ? 128 : 4096;
  float sample_ms = on_cpu ? 0 : 1;
  bool report = false;
  program.add_size("--smallest", smallest, "m, n and k of the first product")
      .positive()
      .at_most(kMost);
  program.add_size("--largest", largest, "where doubling them ends").positive().at_most(kMost);
  program.add_flag("--report", report, "the products of the UVT report instead");
  program.add_number("--sample-ms", sample_ms, "milliseconds that a sample takes at least")
      .at_least(0)
      .at_most(1000);
  program.add_table_options();

  return program.run(argc, argv, [&] {
    std::vector<shape> sizes;
    if (report)
      sizes.assign(std::begin(kReport), std::end(kReport));
    else
      for (std::size_t n = smallest; n <= largest; n *= 2) sizes.push_back({n, n, n});
    if (sizes.empty()) throw lab::invalid_input("--smallest is larger than --largest");

    std::size_t bytes = 0, most = 0;
    for (const auto& [m, n, k] : sizes) {
      const std::size_t of_problem = (m * k + k * n + m * n) * sizeof(float);
      bytes += of_problem;
      most = std::max(most, of_problem);
    }
    program.require_memory(bytes + most, most);
    std::vector<problem> problems;
    for (const shape size : sizes)
      problems.push_back(lab::scaling_study::make_problem(size, program.seed()));

    const plan options{static_cast<unsigned>(program.repeat()), sample_ms};
    const auto rows = lab::scaling_study::study(problems, kBlocks, options);
    if (!program.verdict(lab::scaling_study::check(rows, problems, kBlocks, options))) return false;
    if (lab::on_cpu_device()) {
      std::printf("CPU device: its times are not GPU times, so there are no rates here\n");
      const lab::table table = cpu_device_table(rows);
      program.emit_table(table,
                         {.title = "Operations for a byte of global memory",
                          .x_label = "operations (2 m n k)",
                          .y_label = "FLOP a byte",
                          .log_x = true,
                          .lines = lab::lines_of(table, "block", "operations", "FLOP a byte")});
      print_counters(problems.back());
    } else {
      const lab::table table = gpu_table(rows, problems);
      program.emit_table(table, {.title = "Matrix product in tiles: rate over size and block",
                                 .x_label = "operations (2 m n k)",
                                 .y_label = "GFLOP/s",
                                 .log_x = true,
                                 .log_y = true,
                                 .lines = lab::lines_of(table, "block", "operations", "GFLOP/s")});
    }
    return true;
  });
}
