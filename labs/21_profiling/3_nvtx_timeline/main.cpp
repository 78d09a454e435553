// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 21.3 nvtx_timeline: the program.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "intervals_file.hpp"
#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/random.hpp"
#include "lab/report.hpp"
#include "nvtx_timeline.hpp"
#include "reference.hpp"

namespace {

using lab::nvtx_timeline::activity;
using lab::nvtx_timeline::interval;
using lab::nvtx_timeline::step;
using lab::nvtx_timeline::utilization;

/// What measure() says of the intervals, as a table.
void print_utilization(const std::vector<interval>& intervals) {
  const utilization u = lab::nvtx_timeline::measure(intervals);
  std::size_t kernels = 0;
  for (const interval& each : intervals) kernels += each.kind == activity::kernel;
  std::printf("%zu copies and %zu kernels\n", intervals.size() - kernels, kernels);
  lab::table out({"time in which", "us", "of the span, %"});
  const auto add = [&](const char* label, std::int64_t ns) {
    const auto part = static_cast<double>(ns);
    out.add({label, part / 1e3, u.span > 0 ? 100 * part / static_cast<double>(u.span) : 0.0});
  };
  add("anything is seen (the span)", u.span);
  add("a copy runs", u.copying);
  add("a kernel runs", u.computing);
  add("a copy and a kernel run", u.overlap);
  add("copies run in both directions", u.both_ways);
  add("nothing runs", u.idle);
  add("nothing runs, at most", u.longest_idle);
  std::printf("%s", out.text().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("21.3_nvtx_timeline",
                       "Marks what a program does in a timeline, and measures the overlap in it.");
  const bool on_cpu = lab::on_cpu_device();
  std::size_t size =
      on_cpu ? lab::nvtx_timeline::kDefaultSize : lab::nvtx_timeline::kDefaultGpuSize;
  std::size_t chunk =
      on_cpu ? lab::nvtx_timeline::kDefaultChunk : lab::nvtx_timeline::kDefaultGpuChunk;
  std::string intervals;
  program.add_size("--size", size, "number of elements");
  program.add_size("--chunk", chunk, "elements in a chunk, a multiple of 256");
  program.add_text("--intervals", intervals,
                   "measure the overlap in this file (nsys's CSV, or a trace of the CPU device)");
  const auto& chosen_step = program.add_step<step>(
      {{"one_stream", step::one_stream, "11.2's one_stream, with ranges"},
       {"two_streams", step::two_streams, "11.2's breadth_first, with ranges"}},
      step::two_streams);

  return program.run(argc, argv, [&] {
    if (!intervals.empty()) {
      const auto found = lab::nvtx_timeline::read_intervals(intervals);
      print_utilization(found);
      return true;
    }
    program.require_memory(12 * size * sizeof(int), 6 * std::min(chunk, size) * sizeof(int));
    constexpr int kMost = std::numeric_limits<int>::max();
    const std::vector<int> a = lab::random_ints(size, program.seed(), 0, kMost);
    const std::vector<int> b = lab::random_ints(size, program.seed() + 1, 0, kMost);
    const auto result = lab::nvtx_timeline::process(chosen_step, a, b, chunk);
    std::printf("step %s, %zu elements in chunks of %zu\n", program.step_name().c_str(), size,
                chunk);
    if (!program.verdict(lab::compare_exact(result.c, lab::nvtx_timeline::reference(a, b))))
      return false;
    std::printf("copies and kernels: %.3f ms%s\n", result.total_ms,
                on_cpu ? " (CPU device, not a GPU's time)" : "");
    std::printf("%s",
                on_cpu
                    ? "a timeline: CPU_DEVICE_TRACE=run.json CPU_DEVICE_STREAMS=interleaved before "
                      "the command,\nthen --intervals run.json, and https://ui.perfetto.dev\n"
                    : "a timeline: nsys profile -t cuda,nvtx -o run PROGRAM, then\nnsys stats "
                      "--report cuda_gpu_trace --format csv run.nsys-rep >run.csv, and "
                      "--intervals run.csv\n");
    return true;
  });
}
