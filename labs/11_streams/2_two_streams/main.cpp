// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 11.2 two_streams: the program.

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <vector>

#include "copies.hpp"
#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/random.hpp"
#include "lab/report.hpp"
#include "reference.hpp"
#include "two_streams.hpp"

namespace {

using lab::two_streams::step;

lab::timing measure(step version, const std::vector<int>& a, const std::vector<int>& b,
                    std::size_t chunk, int repeats) {
  std::vector<float> times;
  for (int i = 0; i < repeats; ++i)
    times.push_back(lab::two_streams::process(version, a, b, chunk).total_ms);
  return lab::summarize(times);
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("11.2_two_streams",
                       "Averages neighbours, chunk by chunk in two streams that overlap.");
  std::size_t size = lab::two_streams::kDefaultSize;
  std::size_t chunk = lab::two_streams::kDefaultChunk;
  program.add_size("--size", size, "number of elements; the default is the book's");
  program.add_size("--chunk", chunk, "elements in a chunk, a multiple of 256");
  const auto& chosen_step = program.add_step<step>(
      {{"one_stream", step::one_stream, "as in 11.1, for comparison"},
       {"depth_first", step::depth_first, "all the work for one chunk, then the next"},
       {"breadth_first", step::breadth_first, "two chunks at a time, interleaved"}},
      step::breadth_first);

  return program.run(argc, argv, [&] {
    // On the host: a and b, pinned and not; c pinned and not; the reference and its parts.
    program.require_memory(12 * size * sizeof(int), 6 * std::min(chunk, size) * sizeof(int));
    constexpr int kMost = std::numeric_limits<int>::max();
    const std::vector<int> a = lab::random_ints(size, program.seed(), 0, kMost);
    const std::vector<int> b = lab::random_ints(size, program.seed() + 1, 0, kMost);

    const auto result = lab::two_streams::process(chosen_step, a, b, chunk);
    std::printf("step %s, %zu elements in chunks of %zu\n", program.step_name().c_str(), size,
                chunk);
    if (!program.verdict(lab::compare_exact(result.c, lab::two_streams::reference(a, b))))
      return false;

    if (size == 0) return true;
    const lab::timing time = program.report_kernel(
        [&] { return lab::two_streams::process(chosen_step, a, b, chunk).total_ms; },
        {.name = "copies and kernels"});
    if (lab::on_cpu_device()) {
      std::printf("On the CPU device nothing overlaps.\n");
      return true;
    }
    const double alone = measure(step::one_stream, a, b, chunk, program.repeat()).median_ms;
    const auto copies = lab::two_streams::measure_copies(size, chunk, program.repeat());
    std::printf("one stream:         %.3f ms; this step takes %.0f %% of it\n", alone,
                100 * time.median_ms / alone);
    std::printf("the copies alone:   %.3f ms up + %.3f ms down = %.3f ms one after the other\n",
                copies.up_ms, copies.down_ms, copies.up_ms + copies.down_ms);
    std::printf("the best possible:  %.3f ms, if both directions overlap in full\n",
                std::max(copies.up_ms, copies.down_ms));
    return true;
  });
}
