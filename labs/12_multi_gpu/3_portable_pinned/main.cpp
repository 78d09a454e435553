// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 12.3 portable_pinned: the program.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/dot_program.hpp"
#include "lab/dot_reference.hpp"
#include "lab/table.hpp"
#include "portable_pinned.hpp"

namespace {

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
  const lab::dot_options vectors(program, lab::portable_pinned::kDefaultSize);
  int devices = 0;
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

  return program.run(argc, argv, [&] {
    const std::size_t input_bytes = vectors.bytes();
    const bool copies = chosen_step == step::copies;
    const std::size_t parts = devices > 0 ? static_cast<std::size_t>(devices)
                                          : static_cast<std::size_t>(lab::device_count());
    // The vectors, the same in pinned memory, and the devices' copies: all of those on the CPU
    // device, where they are the host's memory as well, and else each device's part.
    program.require_memory((copies && lab::on_cpu_device() ? 3 : 2) * input_bytes,
                           copies && !lab::on_cpu_device() ? input_bytes / parts : 0);
    if (!program.verdict(
            lab::check_exact_dot(vectors.size(), program.seed(), [&](const auto& a, const auto& b) {
              return lab::portable_pinned::dot(chosen_step, chosen_pinning, a, b, devices).value;
            })))
      return false;

    const auto input = vectors.input(program.seed());
    const std::span<const float> a = input.a, b = input.b;

    const auto run = [&] {
      return lab::portable_pinned::dot(chosen_step, chosen_pinning, a, b, devices);
    };
    const auto result = run();
    std::printf("step %s, %zu elements\n", program.step_name().c_str(), vectors.size());
    std::printf("%s", table_of(result.devices).c_str());
    if (!lab::is_close(program, result.value, lab::dot_in_double(a, b), lab::dot_error_bound(a, b)))
      return false;

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
                          {.items = static_cast<double>(vectors.size()), .item_name = "elements"});
    const lab::timing total = lab::summarize(std::span(totals).subspan(1));  // the first warms up
    std::printf("from pinned memory to the sum: %.3g ms (median of %zu, %.3g to %.3g)\n",
                total.median_ms, total.runs, total.min_ms, total.max_ms);
    if (lab::on_cpu_device() || vectors.size() == 0) return true;
    std::printf("from the host's memory: %.3g GB/s; a copy to device %d alone: %.3g GB/s\n",
                static_cast<double>(input_bytes) / (total.median_ms / 1000) / 1e9, program.device(),
                lab::pinned_copy_bandwidth() / 1e9);
    return true;
  });
}
