// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 11.1 single_stream: the program.

#include <cstddef>
#include <cstdio>
#include <limits>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/random.hpp"
#include "lab/report.hpp"
#include "reference.hpp"
#include "single_stream.hpp"

int main(int argc, char** argv) {
  lab::program program("11.1_single_stream", "Averages neighbours, chunk by chunk in one stream.");
  std::size_t size = lab::single_stream::kDefaultSize;
  std::size_t chunk = lab::single_stream::kDefaultChunk;
  program.add_size("--size", size, "number of elements; the default is the book's");
  program.add_size("--chunk", chunk, "elements in a chunk, a multiple of 256");

  return program.run(argc, argv, [&] {
    // On the host: a and b, pinned and not; c pinned and not; the reference and its parts.
    program.require_memory(12 * size * sizeof(int),
                           3 * (chunk < size ? chunk : size) * sizeof(int));
    constexpr int kMost = std::numeric_limits<int>::max();
    const std::vector<int> a = lab::random_ints(size, program.seed(), 0, kMost);
    const std::vector<int> b = lab::random_ints(size, program.seed() + 1, 0, kMost);

    const auto result = lab::single_stream::process(a, b, chunk);
    std::printf("%zu elements in chunks of %zu\n", size, chunk);
    for (std::size_t i = 0; i < result.c.size() && i < 3; ++i)
      std::printf("  c[%zu] = %d\n", i, result.c[i]);
    if (!program.verdict(lab::compare_exact(result.c, lab::single_stream::reference(a, b))))
      return false;

    std::vector<float> times;
    for (int i = 0; i < program.repeat(); ++i)
      times.push_back(lab::single_stream::process(a, b, chunk).total_ms);
    const lab::timing time = lab::summarize(times);
    std::printf("copies and kernels: %.3f ms (median of %zu, %.3f to %.3f)", time.median_ms,
                time.runs, time.min_ms, time.max_ms);
    if (lab::on_cpu_device())
      std::printf("; CPU device, not a GPU's time\n");
    else
      std::printf(", %.1f GB/s between host and device\n",
                  3.0 * static_cast<double>(size * sizeof(int)) / time.median_ms / 1e6);
    return true;
  });
}
