// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 15.1 lock: the program.

#include <cinttypes>
#include <cstdio>
#include <string>

#include "lab/command_line.hpp"
#include "lock.hpp"
#include "reference.hpp"

int main(int argc, char** argv) {
  using lab::lock::step;
  lab::program program("15.1_lock", "Counts the threads of a grid in one number behind a lock.");
  using lab::lock::kDefaultWork;
  int blocks{kDefaultWork.blocks}, threads{kDefaultWork.threads}, times{kDefaultWork.times};
  program.add_number("--blocks", blocks, "blocks of the grid").at_least(0);
  program.add_number("--threads", threads, "threads of a block").at_least(0);
  program.add_number("--times", times, "how often each thread is counted").at_least(0);
  const auto& chosen_step = program.add_step<step>(
      {{"one_per_block", step::one_per_block, "thread 0 counts for its block"},
       {"lanes_in_turn", step::lanes_in_turn, "every thread for itself"},
       {"atomic_ref", step::atomic_ref, "the same with cuda::atomic_ref"}},
      step::lanes_in_turn);

  return program.run(argc, argv, [&] {
    const lab::lock::work work{static_cast<unsigned>(blocks), static_cast<unsigned>(threads),
                               static_cast<unsigned>(times)};
    const auto result = lab::lock::count(chosen_step, work);
    const std::uint64_t count = lab::lock::expected_count(work);
    const std::uint64_t entries = lab::lock::expected_entries(chosen_step, work);
    std::printf("step %s: %d blocks of %d threads, each counted %d times\n",
                program.step_name().c_str(), blocks, threads, times);
    std::printf("counted %" PRIu64 ", and took the lock %" PRIu64 " times\n", result.count,
                result.entries);
    if (!program.verdict(
            result.count == count && result.entries == entries,
            "expected are " + std::to_string(count) + " and " + std::to_string(entries)))
      return false;
    if (entries == 0) return true;
    const auto time =
        program.report_kernel([&] { return lab::lock::count(chosen_step, work).kernel_ms; });
    std::printf("%.3g us per acquisition of the lock\n",
                1000 * time.median_ms / static_cast<double>(entries));
    return true;
  });
}
