// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 12.1 zero_copy_dot: the program.

#include <cstddef>
#include <cstdio>
#include <span>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/dot_program.hpp"
#include "lab/dot_reference.hpp"
#include "zero_copy_dot.hpp"

int main(int argc, char** argv) {
  using lab::zero_copy_dot::step;
  lab::program program("12.1_zero_copy_dot",
                       "Dot product of vectors that stay in the host's memory.");
  const lab::dot_options vectors(program, lab::zero_copy_dot::kDefaultSize);
  const auto& chosen_step = program.add_step<step>(
      {{"copies", step::copies, "through device memory"},
       {"zero_copy", step::zero_copy, "the kernel reads mapped host memory"},
       {"staged", step::staged, "through rings of pinned buffers, piece by piece"}},
      step::zero_copy);

  return program.run(argc, argv, [&] {
    const std::size_t input_bytes = vectors.bytes();
    const bool copies = chosen_step == step::copies;
    const bool zero_copy = chosen_step == step::zero_copy;
    program.require_memory(zero_copy ? 2 * input_bytes : input_bytes, copies ? input_bytes : 0);
    if (!program.verdict(
            lab::check_exact_dot(vectors.size(), program.seed(), [&](const auto& a, const auto& b) {
              return lab::zero_copy_dot::dot(chosen_step, a, b).value;
            })))
      return false;

    const auto input = vectors.input(program.seed());
    const std::span<const float> a = input.a, b = input.b;

    const auto result = lab::zero_copy_dot::dot(chosen_step, a, b);
    std::printf("step %s, %zu elements\n", program.step_name().c_str(), vectors.size());
    if (!lab::is_close(program, result.value, lab::dot_in_double(a, b), lab::dot_error_bound(a, b)))
      return false;

    // Over the bus go the vectors, so only the copied version's kernel is measured by the
    // device's own memory.
    std::vector<float> totals;
    program.report_kernel(
        [&] {
          const auto run = lab::zero_copy_dot::dot(chosen_step, a, b);
          totals.push_back(run.total_ms);
          return run.kernel_ms;
        },
        {.bytes = copies ? static_cast<double>(input_bytes) : 0});
    const lab::timing total = lab::summarize(std::span(totals).subspan(1));  // the first warms up
    std::printf("from the host's vectors to the sum: %.3g ms (median of %zu, %.3g to %.3g)\n",
                total.median_ms, total.runs, total.min_ms, total.max_ms);
    if (lab::on_cpu_device() || vectors.size() == 0) return true;
    const double rate = static_cast<double>(input_bytes) / (total.median_ms / 1000);
    const double best = lab::pinned_copy_bandwidth();
    std::printf("over the bus: %.3g GB/s; cudaMemcpy from pinned memory: %.3g GB/s (%.0f %%)\n",
                rate / 1e9, best / 1e9, 100 * rate / best);
    return true;
  });
}
