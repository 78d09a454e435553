// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 02.2 copy_rates: the program.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "copy_rates.hpp"
#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/random.hpp"
#include "reference.hpp"

namespace {

using lab::copy_rates::copy;
using lab::copy_rates::direction;
using lab::copy_rates::gigabytes_per_second;
using lab::copy_rates::memory;

struct transfer {
  memory host_memory;
  direction dir;
  const char* name;
};
constexpr transfer kTransfers[] = {{memory::pageable, direction::to_device, "pageable to device"},
                                   {memory::pinned, direction::to_device, "pinned to device"},
                                   {memory::pageable, direction::to_host, "pageable to host"},
                                   {memory::pinned, direction::to_host, "pinned to host"}};

}  // namespace

int main(int argc, char** argv) {
  lab::program program("02.2_copy_rates", "Copies between host and device, in GB/s.");
  std::size_t size = lab::copy_rates::kDefaultSize;
  std::size_t copies = 10;
  program.add_size("--size", size, "bytes of the largest copy; the default is the book's");
  program.add_size("--copies", copies, "copies that are timed together; the book takes 100")
      .at_least(1)
      .at_most(1'000'000);
  program.add_table_options();

  return program.run(argc, argv, [&] {
    program.require_memory(5 * size, 2 * size);
    const auto bytes = lab::random_bytes(size, program.seed());
    for (const transfer& w : kTransfers) {
      const auto r = copy(w.host_memory, w.dir, bytes);
      std::printf("%s: ", w.name);
      if (!program.verdict(lab::compare_exact(r.arrived, bytes))) return false;
      if (size > 0 && r.pinned != (w.host_memory == memory::pinned))
        return program.verdict(false, "CUDA says that this memory is of the other kind");
    }
    if (size == 0) return true;

    // The size, a quarter of it, a quarter of that …, the smallest first.
    std::vector<std::size_t> sizes;
    for (std::size_t n = size; n >= 4096 || sizes.empty(); n /= 4) sizes.insert(sizes.begin(), n);

    lab::table rows(
        {"bytes", kTransfers[0].name, kTransfers[1].name, kTransfers[2].name, kTransfers[3].name});
    lab::chart plot{"Copies between host and device", "bytes", "GB/s", true, true};
    for (const transfer& w : kTransfers) plot.lines.push_back({w.name, {}});
    double pinned_ms[2] = {};  // of the largest copies, by direction
    for (const std::size_t n : sizes) {
      std::vector<lab::cell> row{static_cast<std::int64_t>(n)};
      for (std::size_t k = 0; k < std::size(kTransfers); ++k) {
        const auto& [host_memory, dir, name] = kTransfers[k];
        std::vector<float> times;
        for (int i = 0; i < program.repeat(); ++i)
          times.push_back(
              copy(host_memory, dir, std::span(bytes).first(n), static_cast<unsigned>(copies))
                  .milliseconds);
        const double ms = lab::summarize(times).median_ms;
        if (host_memory == memory::pinned) pinned_ms[dir == direction::to_host] = ms;
        row.emplace_back(gigabytes_per_second(n, ms));
        plot.lines[k].points.emplace_back(static_cast<double>(n), gigabytes_per_second(n, ms));
      }
      rows.add(std::move(row));
    }
    std::printf("GB/s (of 10^9 bytes), each the median of %d times %zu copies:\n", program.repeat(),
                copies);
    program.emit_table(rows, plot);

    if (lab::on_cpu_device()) {
      std::printf(
          "CPU device: no GPU's rates. Both sides of a copy are the same memory here, and pinned\n"
          "memory is as good as any other.\n");
      return true;
    }
    for (const direction dir : {direction::to_device, direction::to_host}) {
      const double bare = lab::copy_rates::bare_pinned_ms(dir, size, program.repeat());
      std::printf("pinned %s: %.1f %% of a bare cudaMemcpy by the host's clock (%.2f GB/s)\n",
                  dir == direction::to_device ? "to device" : "to host",
                  100 * bare / pinned_ms[dir == direction::to_host],
                  gigabytes_per_second(size, bare));
    }
    return true;
  });
}
