// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 12.3 portable_pinned: the program.

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/dot_reference.hpp"
#include "lab/random.hpp"
#include "lab/table.hpp"
#include "portable_pinned.hpp"
#include "reference.hpp"

namespace {

enum class data { book, random };

/// `portable, mapped`.
std::string names_of(unsigned flags) {
  std::string names;
  const auto add = [&](unsigned flag, const char* name) {
    if ((flags & flag) == 0) return;
    if (!names.empty()) names += ", ";
    names += name;
  };
  add(cudaHostAllocPortable, "portable");
  add(cudaHostAllocMapped, "mapped");
  add(cudaHostAllocWriteCombined, "write-combined");
  return names.empty() ? "none" : names;
}

/// What the devices say, a line each.
std::string table_of(const std::vector<lab::portable_pinned::device_report>& devices) {
  lab::table rows({"device", "elements", "flags", "pinned", "same address", "kernel ms"});
  for (std::size_t k = 0; k < devices.size(); ++k) {
    const auto& seen = devices[k];
    const auto answer = [&](bool yes) -> std::string {
      if (seen.elements == 0) return "";
      return yes ? "yes" : "no";
    };
    rows.add({static_cast<std::int64_t>(k), static_cast<std::int64_t>(seen.elements),
              seen.elements == 0 ? "" : names_of(seen.flags), answer(seen.pinned),
              answer(seen.same_address), static_cast<double>(seen.kernel_ms)});
  }
  return rows.text();
}

}  // namespace

int main(int argc, char** argv) {
  using lab::portable_pinned::pinning;
  using lab::portable_pinned::step;
  lab::program program("12.3_portable_pinned",
                       "Dot product by all devices, from one piece of pinned host memory.");
  std::size_t size = lab::portable_pinned::kDefaultSize;
  int devices = 0;
  program.add_size("--size", size, "number of elements");
  program.add_number("--devices", devices, "number of devices to use; 0: all of them").at_least(0);
  const auto& chosen_step = program.add_step<step>(
      {{"zero_copy", step::zero_copy, "the kernels read the host's memory; one thread per device"},
       {"copies", step::copies, "each device copies its part; one thread"}},
      step::zero_copy);
  const auto& chosen_pinning = program.add_choice<pinning>(
      "--pinning",
      {{"all_devices", pinning::all_devices, "with cudaHostAllocPortable"},
       {"one_device", pinning::one_device, "without: by device --device, for itself"}},
      pinning::all_devices, "which devices the memory is pinned for");
  const auto& chosen_data =
      program.add_choice<data>("--data",
                               {{"book", data::book, "a[i] = i, b[i] = 2 * i"},
                                {"random", data::random, "numbers from 0 to 1, made from --seed"}},
                               data::book, "what to multiply");

  return program.run(argc, argv, [&] {
    const std::size_t input_bytes = 2 * size * sizeof(float);
    const bool copies = chosen_step == step::copies;
    const std::size_t parts = devices > 0 ? static_cast<std::size_t>(devices)
                                          : static_cast<std::size_t>(lab::device_count());
    // The vectors, the same in pinned memory, and the devices' copies: all of those on the CPU
    // device, where they are the host's memory as well, and else each device's part.
    program.require_memory((copies && lab::on_cpu_device() ? 3 : 2) * input_bytes,
                           copies && !lab::on_cpu_device() ? input_bytes / parts : 0);
    if (!program.verdict(
            lab::check_exact_dot(size, program.seed(), [&](const auto& a, const auto& b) {
              return lab::portable_pinned::dot(chosen_step, chosen_pinning, a, b, devices).value;
            })))
      return false;

    std::vector<float> a, b;
    if (chosen_data == data::random) {
      // None is negative: else the sum could be smaller than its bound, and 0 as good a result.
      a = lab::random_floats(size, program.seed(), 0, 1);
      b = lab::random_floats(size, program.seed() + 1, 0, 1);
    } else {
      a.resize(size);
      b.resize(size);
      for (std::size_t i = 0; i < size; ++i) {
        a[i] = static_cast<float>(i);
        b[i] = 2 * static_cast<float>(i);
      }
    }

    const auto run = [&] {
      return lab::portable_pinned::dot(chosen_step, chosen_pinning, a, b, devices);
    };
    const auto result = run();
    std::printf("step %s, %zu elements\n", program.step_name().c_str(), size);
    std::printf("%s", table_of(result.devices).c_str());
    std::printf("dot product: %.6g\n", static_cast<double>(result.value));
    const double expected = lab::portable_pinned::reference(a, b);
    const double bound = lab::portable_pinned::error_bound(a, b);
    std::printf("off by %.3g from the sum in double; %.3g is allowed\n",
                std::fabs(result.value - expected), bound);
    if (!program.verdict(lab::compare(result.value, expected, {.absolute = bound}))) return false;

    // The slowest device's. No rate of bytes: the limit of one memory is not that of several.
    std::vector<float> totals;
    const auto slowest_kernel = [&] {
      const auto again = run();
      totals.push_back(again.total_ms);
      float slowest = 0;
      for (const auto& device : again.devices) slowest = std::max(slowest, device.kernel_ms);
      return slowest;
    };
    program.report_kernel(slowest_kernel,
                          {.items = static_cast<double>(size), .item_name = "elements"});
    const lab::timing total = lab::summarize(std::span(totals).subspan(1));  // the first warms up
    std::printf("from pinned memory to the sum: %.3g ms (median of %zu, %.3g to %.3g)\n",
                total.median_ms, total.runs, total.min_ms, total.max_ms);
    if (lab::on_cpu_device() || size == 0) return true;
    std::printf("from the host's memory: %.3g GB/s; a copy to device %d alone: %.3g GB/s\n",
                static_cast<double>(input_bytes) / (total.median_ms / 1000) / 1e9, program.device(),
                lab::pinned_copy_bandwidth() / 1e9);
    return true;
  });
}
