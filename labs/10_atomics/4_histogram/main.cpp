// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 10.4 histogram: the program.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "data.hpp"
#include "histogram.hpp"
#include "lab/bare_kernels.hpp"
#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/histogram_baseline.hpp"
#include "reference.hpp"

namespace {

void print_most_frequent(const std::vector<std::uint64_t>& count) {
  const auto most = std::ranges::max_element(count);
  const auto least = std::ranges::min_element(count);
  std::printf("  most frequent: byte %td, %llu times; least: byte %td, %llu times\n",
              most - count.begin(), static_cast<unsigned long long>(*most), least - count.begin(),
              static_cast<unsigned long long>(*least));
}

}  // namespace

int main(int argc, char** argv) {
  using lab::histogram::data;
  using lab::histogram::step;
  lab::program program("10.4_histogram", "Counts how often each value of a byte occurs.");
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  std::size_t size = lab::on_cpu_device() ? lab::histogram::kDefaultSize : 100 * kMiB;
  std::size_t threads = 0;
  program.add_size("--size", size, "number of bytes; the book has 100 MiB, --size 102400K");
  program.add_size("--threads", threads, "threads in a block; 0: what the step is fastest with")
      .at_most(1U << 16);
  const auto& chosen_step = program.add_step<step>(
      {{"cpu", step::cpu, "a loop on the host"},
       {"global_atomics", step::global_atomics, "256 counters in global memory"},
       {"shared_atomics", step::shared_atomics, "256 counters for each block, in shared memory"},
       {"lane_copies", step::lane_copies, "256 counters for each lane of a warp"}},
      step::lane_copies);
  const auto& chosen_data = program.add_choice<data>(
      "--data",
      {{"random", data::random, "every value is as likely"},
       {"skewed", data::skewed, "a third is 0, most others have one bit or two set"},
       {"constant", data::constant, "all bytes are equal"}},
      data::random, "what to count");

  return program.run(argc, argv, [&] {
    program.require_memory(3 * size, 2 * size);
    const auto bytes = lab::histogram::make_bytes(chosen_data, size, program.seed());
    const auto run_once = [&] {
      return lab::histogram::count(chosen_step, bytes, static_cast<unsigned>(threads));
    };
    const auto result = run_once();
    std::printf("step %s, %zu bytes\n", program.step_name().c_str(), size);
    if (!program.verdict(lab::histogram::check(result.count, bytes))) return false;
    print_most_frequent(result.count);
    const auto time = program.report_kernel([&] { return run_once().kernel_ms; },
                                            {.bytes = static_cast<double>(size)});
    program.report_library("cub::DeviceHistogram", lab::library_histogram_milliseconds(bytes),
                           time);
    program.report_library("reading alone", lab::reading_milliseconds(size), time);
    return true;
  });
}
