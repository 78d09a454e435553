// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 19.3 nccl_sum: the program.

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "nccl_sum.hpp"
#include "reference.hpp"

namespace {

using lab::nccl_sum::collective;
using lab::nccl_sum::kNobody;

constexpr int kRounds = 20, kRoundsOnCpu = 3;

/// Whether every device has the right sums, and all the same bits.
lab::comparison check_sums(int devices, std::span<const float> arrays,
                           const std::vector<float>& sums) {
  const auto exact = lab::nccl_sum::reference(devices, arrays);
  const std::size_t n = exact.sums.size();
  if (sums.size() != arrays.size())
    return {false,
            std::to_string(sums.size()) + " sums instead of " + std::to_string(arrays.size())};
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double bound = lab::nccl_sum::error_bound(devices, exact.magnitudes[i % n]);
    if (!(std::fabs(static_cast<double>(sums[i]) - exact.sums[i % n]) <= bound))
      return {false, "device " + std::to_string(i / n) + " has " + std::to_string(sums[i]) +
                         " in place " + std::to_string(i % n) + ", and the sum is " +
                         std::to_string(exact.sums[i % n])};
    if (sums[i] != sums[i % n])
      return {false, "devices 0 and " + std::to_string(i / n) + " differ in place " +
                         std::to_string(i % n)};
  }
  return {true, "all " + std::to_string(devices) + " x " + std::to_string(n) +
                    " sums are within their bounds, and the same on all devices"};
}

bool check_others(int devices, std::uint64_t seed, lab::program& program) {
  const auto ranks = static_cast<std::size_t>(devices);
  const std::vector<int> numbers = lab::random_ints(ranks * ranks * 100, seed + 1, -99, 99);
  const std::vector<float> arrays(numbers.begin(), numbers.end());
  const std::string names[] = {"broadcast", "all_gather", "reduce_scatter"};
  for (const auto operation :
       {collective::broadcast, collective::all_gather, collective::reduce_scatter}) {
    std::printf("%s: ", names[static_cast<int>(operation)].c_str());
    if (!program.verdict(
            lab::compare_exact(lab::nccl_sum::communicate(operation, devices, arrays, devices - 1),
                               lab::nccl_sum::reference(operation, devices, arrays, devices - 1))))
      return false;
  }
  const auto a = lab::random_floats(100'003, seed + 2, -1, 1);
  const auto b = lab::random_floats(100'003, seed + 3, -1, 1);
  const auto dots = lab::nccl_sum::dot(devices, a, b);
  const double expected = lab::nccl_sum::dot_reference(a, b);
  std::printf("dot product of 100003 elements: %.12g; ", dots.empty() ? 0 : dots.front());
  bool right = dots.size() == ranks;
  for (const double dot : dots)
    right = right && std::fabs(dot - expected) <= lab::nccl_sum::dot_error_bound(a, b);
  return program.verdict(
      right, right ? "all devices have it" : "the host gets " + std::to_string(expected));
}

}  // namespace

int main(int argc, char** argv) {
  using lab::nccl_sum::step;
  lab::program program("19.3_nccl_sum", "Sums over all devices, by hand and with NCCL.");
  std::size_t size =
      lab::on_cpu_device() ? lab::nccl_sum::kDefaultSizeOnCpu : lab::nccl_sum::kDefaultSize;
  int devices = 0, failing = kNobody;
  program.add_size("--size", size, "number of elements per device").positive();
  program.add_number("--devices", devices, "how many devices; 0: all").at_least(0);
  program.add_number("--fail", failing, "a rank that fails on purpose; -1: none").at_least(-1);
  const auto& chosen_step = program.add_step<step>(
      {{"ring_by_hand", step::ring_by_hand, "peer copies around a ring"},
       {"one_thread", step::one_thread, "ncclAllReduce for all devices, from one host thread"},
       {"thread_per_rank", step::thread_per_rank, "a host thread for each device"}},
      step::one_thread);

  return program.run(argc, argv, [&] {
    if (devices == 0) devices = lab::device_count();
    if (devices > lab::device_count())
      throw lab::invalid_input("--devices: there are " + std::to_string(lab::device_count()) +
                               ", and not " + std::to_string(devices));
    if (failing >= devices)
      throw lab::invalid_input("--fail: rank " + std::to_string(failing) + " is none of the " +
                               std::to_string(devices));
    const auto ranks = static_cast<std::size_t>(devices);
    if (failing != kNobody) {
      const auto outcomes = lab::nccl_sum::with_a_failure(devices, size, failing);
      bool all_know = outcomes.size() == ranks;
      for (std::size_t k = 0; k < outcomes.size(); ++k) {
        std::printf("rank %zu, after %.3f s: %s\n", k, static_cast<double>(outcomes[k].seconds),
                    outcomes[k].has_sums ? "has its sums" : outcomes[k].error.c_str());
        all_know = all_know && !outcomes[k].has_sums && !outcomes[k].error.empty() &&
                   outcomes[k].seconds < lab::nccl_sum::kPatience;
      }
      return program.verdict(all_know, all_know ? "all ranks report the failure"
                                                : "not all ranks report the failure in time");
    }

    const std::size_t bytes = ranks * size * sizeof(float);
    program.require_memory(7 * bytes, lab::on_cpu_device() ? 3 * bytes : bytes / ranks * 3);
    const auto arrays = lab::random_floats(ranks * size, program.seed(), -1, 1);
    const int rounds = lab::on_cpu_device() ? kRoundsOnCpu : kRounds;
    const auto result = lab::nccl_sum::all_reduce(chosen_step, devices, arrays, rounds);
    std::printf("step %s, %d %s, %zu elements each\n", program.step_name().c_str(), devices,
                devices == 1 ? "device" : "devices", size);
    if (!program.verdict(check_sums(devices, arrays, result.sums))) return false;
    if (!check_others(devices, program.seed(), program)) return false;

    const double seconds = static_cast<double>(result.milliseconds) / 1000;
    const double sent = 2.0 * (devices - 1) / devices * static_cast<double>(size * sizeof(float));
    std::printf("an all-reduce: %.3g ms (mean of %d); each device sends %.3g MB",
                static_cast<double>(result.milliseconds), rounds - 1, sent / 1e6);
    if (devices > 1 && seconds > 0) std::printf(", %.3g GB/s", sent / seconds / 1e9);
    std::printf("\n");
    return true;
  });
}
