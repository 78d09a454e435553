// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 12.2 multi_gpu_dot: the program.

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/dot_program.hpp"
#include "lab/dot_reference.hpp"
#include "lab/errors.hpp"
#include "multi_gpu_dot.hpp"

namespace {

/// `1,2.5,0` as numbers; without any text as many ones as `devices` says, or as there are devices.
std::vector<double> read_shares(const std::string& text, int devices) {
  if (!text.empty() && devices != 0)
    throw lab::invalid_input("--shares says how many devices work, so leave out --devices");
  const int there_are = lab::device_count();
  if (devices > there_are)
    throw lab::invalid_input("--devices " + std::to_string(devices) + ": there are only " +
                             std::to_string(there_are));
  if (text.empty())
    return std::vector<double>(static_cast<std::size_t>(devices != 0 ? devices : there_are), 1.0);
  std::vector<double> shares;
  std::istringstream list(text);
  for (std::string word; std::getline(list, word, ',');) {
    char* end = nullptr;
    shares.push_back(std::strtod(word.c_str(), &end));
    if (end == word.c_str() || *end != '\0')
      throw lab::invalid_input("--shares: '" + word +
                               "' is not a number; write them as in 1,1,0.5");
  }
  return shares;
}

/// Of so many bytes, how many at least the device with the largest share gets; 0 for shares that
/// dot() refuses.
std::size_t largest_part(std::size_t bytes, const std::vector<double>& shares) {
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  const double most = shares.empty() ? 0 : *std::max_element(shares.begin(), shares.end()) / sum;
  return most > 0 && most <= 1 ? static_cast<std::size_t>(most * static_cast<double>(bytes)) : 0;
}

}  // namespace

int main(int argc, char** argv) {
  using lab::multi_gpu_dot::step;
  lab::program program("12.2_multi_gpu_dot", "Dot product by all devices together.");
  const lab::dot_options vectors(program, lab::multi_gpu_dot::kDefaultSize);
  int devices = 0;
  std::string share_list;
  program.add_number("--devices", devices, "number of devices to use; 0: all of them").at_least(0);
  program.add_text("--shares", share_list,
                   "relative speeds of device 0, 1, …, as in 1,1,0.5; all equal if left out");
  const auto& chosen_step = program.add_step<step>(
      {{"thread_per_device", step::thread_per_device, "a host thread for each device"},
       {"one_thread", step::one_thread, "one host thread, a stream for each device"},
       {"staged", step::staged, "several host threads for each device, pinned buffers"}},
      step::one_thread);

  return program.run(argc, argv, [&] {
    const std::vector<double> shares = read_shares(share_list, devices);
    const std::size_t input_bytes = vectors.bytes();
    // In step staged, parts may be larger than the device's memory.
    const bool is_staged = chosen_step == step::staged;
    program.require_memory(input_bytes, lab::on_cpu_device() ? input_bytes
                                        : is_staged          ? 0
                                                             : largest_part(input_bytes, shares));
    if (!program.verdict(
            lab::check_exact_dot(vectors.size(), program.seed(), [&](const auto& a, const auto& b) {
              return lab::multi_gpu_dot::dot(chosen_step, a, b, shares).value;
            })))
      return false;

    const auto input = vectors.input(program.seed());
    const std::span<const float> a = input.a, b = input.b;

    const auto result = lab::multi_gpu_dot::dot(chosen_step, a, b, shares);
    std::printf("step %s, %zu elements\n", program.step_name().c_str(), vectors.size());
    const auto cuts = lab::multi_gpu_dot::split(vectors.size(), shares);
    for (std::size_t k = 0; k + 1 < cuts.size(); ++k)
      std::printf("%s: %zu elements\n", lab::describe_device(static_cast<int>(k)).c_str(),
                  cuts[k + 1] - cuts[k]);
    if (!lab::is_close(program, result.value, lab::dot_in_double(a, b), lab::dot_error_bound(a, b)))
      return false;

    // No bytes: the limit of one device's memory is not that of several.
    std::vector<float> totals;
    program.report_kernel(
        [&] {
          const auto run = lab::multi_gpu_dot::dot(chosen_step, a, b, shares);
          totals.push_back(run.total_ms);
          return run.kernel_ms;
        },
        {.items = static_cast<double>(vectors.size()), .item_name = "elements"});
    const lab::timing total = lab::summarize(std::span(totals).subspan(1));  // the first warms up
    std::printf("from the vectors to the sum: %.3g ms (median of %zu, %.3g to %.3g)\n",
                total.median_ms, total.runs, total.min_ms, total.max_ms);
    if (lab::on_cpu_device() || vectors.size() == 0) return true;
    const double rate = static_cast<double>(input_bytes) / (total.median_ms / 1000);
    const double best = lab::pinned_copy_bandwidth();
    std::printf(
        "over all buses: %.3g GB/s; cudaMemcpy to one device from pinned memory: %.3g GB/s"
        " (%.0f %%)\n",
        rate / 1e9, best / 1e9, 100 * rate / best);
    return true;
  });
}
