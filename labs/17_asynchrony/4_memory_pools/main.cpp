// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 17.4 memory_pools: the program.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/random.hpp"
#include "memory_pools.hpp"
#include "reference.hpp"

int main(int argc, char** argv) {
  using lab::memory_pools::step;
  lab::program program("17.4_memory_pools", "Allocates the memory of many short jobs from pools.");
  using namespace lab::memory_pools;
  std::size_t jobs = lab::on_cpu_device() ? kDefaultJobs : 1000;
  std::size_t length = lab::on_cpu_device() ? kDefaultLength : 16 * 1024;
  int batch = kDefaultBatch;
  program.add_size("--jobs", jobs, "each with its own memory").positive().at_most(1U << 20);
  program.add_size("--length", length, "values of a job, on average").positive().at_most(1U << 28);
  program.add_number("--batch", batch, "jobs after which the host waits").at_least(1);
  const auto& chosen_step = program.add_step<step>(
      {{"malloc_each", step::malloc_each, "cudaMalloc and cudaFree for each job"},
       {"malloc_async", step::malloc_async, "memory in the order of a stream"},
       {"kept_pool", step::kept_pool, "from a pool that keeps what is freed"},
       {"two_streams", step::two_streams, "allocated in one stream, freed in another one"}},
      step::malloc_each);

  return program.run(argc, argv, [&] {
    program.require_memory(8 * jobs * length * sizeof(std::uint32_t),
                           4 * jobs * length * sizeof(std::uint32_t));
    std::vector<std::size_t> lengths;
    for (const int n : lab::random_ints(jobs, program.seed(), 1, 2 * static_cast<int>(length) - 1))
      lengths.push_back(static_cast<std::size_t>(n));
    const std::size_t count = std::accumulate(lengths.begin(), lengths.end(), std::size_t{0});
    const std::vector<std::uint32_t> values = lab::random_words(count, program.seed() + 1);

    std::printf("step %s: %zu jobs with %zu values, in batches of %d\n",
                program.step_name().c_str(), jobs, count, batch);
    const result smoothed = smooth(chosen_step, values, lengths, batch);
    if (!program.verdict(lab::compare_exact(smoothed.values, reference(values, lengths))))
      return false;
    if (chosen_step != step::malloc_each)
      std::printf("the pool reserved %s after the last batch\n",
                  lab::human_bytes(static_cast<double>(smoothed.kept)).c_str());
    if (chosen_step == step::kept_pool || chosen_step == step::two_streams)
      std::printf("and %s when it had been trimmed\n",
                  lab::human_bytes(static_cast<double>(smoothed.left)).c_str());

    // Each of the two passes reads and writes all values.
    const lab::timing time =
        program.report_kernel([&] { return smooth(chosen_step, values, lengths, batch).total_ms; },
                              {.bytes = 4.0 * static_cast<double>(count) * sizeof(std::uint32_t),
                               .items = static_cast<double>(jobs),
                               .item_name = "jobs"});
    std::printf("a job: %.3g us%s\n", 1000 * time.median_ms / static_cast<double>(jobs),
                lab::on_cpu_device() ? " (CPU device, not a GPU's time)" : "");
    return true;
  });
}
