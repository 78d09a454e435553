// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 19.4 many_gpu_sort: the program.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "many_gpu_sort.hpp"
#include "reference.hpp"

namespace {

enum class kind { random, skewed, equal, descending };

std::vector<std::uint32_t> make_keys(kind of, std::size_t n, std::uint64_t seed) {
  auto keys = lab::random_words(n, seed);
  for (std::size_t i = 0; i < n; ++i) {
    // Of the fourth powers of random numbers below 1, half are below 1/16.
    const double random = keys[i] / 4294967296.0;
    if (of == kind::skewed)
      keys[i] = static_cast<std::uint32_t>(random * random * random * random * 100'000);
    if (of == kind::equal) keys[i] = 42;
    if (of == kind::descending) keys[i] = static_cast<std::uint32_t>(n - i);
  }
  return keys;
}

}  // namespace

int main(int argc, char** argv) {
  using lab::many_gpu_sort::step;
  lab::program program("19.4_many_gpu_sort", "Sample sort on all devices together.");
  std::size_t size = lab::on_cpu_device() ? lab::many_gpu_sort::kDefaultSizeOnCpu
                                          : lab::many_gpu_sort::kDefaultSize;
  int devices = 0;
  program.add_size("--size", size, "number of keys").at_most(0xFFFFFFFFU);
  program.add_number("--devices", devices, "how many devices; 0: all").at_least(0);
  const auto& keys_of =
      program.add_choice<kind>("--keys",
                               {{"random", kind::random, "all 32-bit numbers, random"},
                                {"skewed", kind::skewed, "below 100000, small ones far more often"},
                                {"equal", kind::equal, "42 again and again"},
                                {"descending", kind::descending, "the largest first"}},
                               kind::random, "what to sort");
  const auto& chosen_step = program.add_step<step>(
      {{"sort_again", step::sort_again, "each device sorts what it has received"},
       {"merge", step::merge, "each device merges the runs that it has received"}},
      step::sort_again);

  return program.run(argc, argv, [&] {
    if (devices == 0) devices = lab::device_count();
    if (devices > lab::device_count())
      throw lab::invalid_input("--devices: there are " + std::to_string(lab::device_count()) +
                               ", and not " + std::to_string(devices));
    program.require_memory(32 * size, 40 * size / static_cast<std::size_t>(devices));
    const auto keys = make_keys(keys_of, size, program.seed());
    const auto sorted = lab::many_gpu_sort::sort(chosen_step, devices, keys);
    std::printf("step %s, %zu keys, %d %s\n", program.step_name().c_str(), size, devices,
                devices == 1 ? "device" : "devices");
    if (!program.verdict(lab::many_gpu_sort::check_result(sorted, devices, keys))) return false;
    for (std::size_t k = 0; k < sorted.counts.size(); ++k)
      std::printf("device %zu: %zu keys\n", k, sorted.counts[k]);
    std::printf("at most %zu keys per device are allowed\n",
                lab::many_gpu_sort::most_per_device(size, devices));

    // No library does this, and one device's rate is that of the same program with --devices 1.
    const auto run_once = [&] {
      return lab::many_gpu_sort::sort(chosen_step, devices, keys).milliseconds;
    };
    program.report_kernel(run_once, {.items = static_cast<double>(size), .item_name = "keys"});
    return true;
  });
}
