// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 01.3 device_query: the program.

#include <array>
#include <cstddef>
#include <cstdio>
#include <string>

#include "device_query.hpp"
#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/report.hpp"
#include "reference.hpp"

namespace {

using lab::device_query::report;

std::string number(const char* format, double value, const char* unit) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return std::string(text) + " " + unit;
}

std::string bytes(std::size_t count) {
  return count == 0 ? "unknown" : lab::human_bytes(static_cast<double>(count));
}
std::string frequency(int khz) {
  return khz <= 0 ? "unknown" : number("%.0f", khz / 1000.0, "MHz");
}
std::string yes_or_no(bool answer) { return answer ? "yes" : "no"; }
std::string dimensions(const std::array<int, 3>& most) {
  return std::to_string(most[0]) + " x " + std::to_string(most[1]) + " x " +
         std::to_string(most[2]);
}

void row(const char* property, const std::string& value, const char* meaning) {
  std::printf("    %-26s %-27s %s\n", property, value.c_str(), meaning);
}

const char* compute_mode(int mode) {
  switch (mode) {
    case 0:
      return "open to every process";
    case 2:
      return "closed";
    default:
      return "one process at a time";
  }
}

void print(const report& of) {
  std::printf("\ndevice %d: %s\n", of.device, of.name.c_str());
  char address[32];
  std::snprintf(address, sizeof address, "%04x:%02x:%02x", static_cast<unsigned>(of.pci_domain),
                static_cast<unsigned>(of.pci_bus), static_cast<unsigned>(of.pci_device));
  row("compute capability",
      std::to_string(of.compute_major) + "." + std::to_string(of.compute_minor),
      "which instructions it has: nvcc -arch=sm_<both digits>");
  row("PCI address", address, "tells cards of one type apart");

  std::printf("  memory\n");
  row("global memory", bytes(of.global_bytes), "what cudaMalloc gives: every thread reaches it");
  row("constant memory", bytes(of.constant_bytes), "read only, quick if a warp reads one address");
  row("L2 cache", bytes(of.l2_bytes), "between global memory and all multiprocessors");
  row("memory clock", frequency(of.memory_clock_khz), "two transfers each cycle");
  row("memory bus",
      of.memory_bus_bits <= 0 ? "unknown" : std::to_string(of.memory_bus_bits) + " bits",
      "what one transfer brings");
  row("theoretical bandwidth",
      of.bandwidth > 0 ? number("%.1f", of.bandwidth / 1e9, "GB/s") : "unknown",
      "2 x clock x bus / 8: nothing that moves data is faster");
  row("longest pitch", bytes(of.pitch_bytes), "of a row in copies between pitched memory");
  row("texture alignment", bytes(of.texture_alignment_bytes), "of the first texel's address");

  std::printf("  multiprocessors\n");
  row("multiprocessors", std::to_string(of.multiprocessors), "blocks are spread over these");
  row("clock", frequency(of.clock_khz), "at most");
  row("threads in a warp", std::to_string(of.warp_size), "these go through the code together");
  row("resident threads on each", std::to_string(of.threads_per_multiprocessor),
      "while some wait for memory, others work");
  row("shared memory of each", bytes(of.shared_bytes_per_multiprocessor),
      "the blocks on it divide it among them");

  std::printf("  at most\n");
  row("threads in a block", std::to_string(of.threads_per_block), "x times y times z");
  row("a block's dimensions", dimensions(of.block_dimensions), "each direction for itself");
  row("a grid's dimensions", dimensions(of.grid_dimensions), "in blocks");
  row("shared memory of a block", bytes(of.shared_bytes_per_block), "without asking for more");
  row("registers of a block", std::to_string(of.registers_per_block),
      "of 32 bits, for all of its threads");

  std::printf("  abilities\n");
  row("copy engines", std::to_string(of.copy_engines), "copies that go on while a kernel runs");
  row("concurrent kernels", yes_or_no(of.concurrent_kernels), "several kernels at the same time");
  row("time limit for kernels", yes_or_no(of.kernel_timeout),
      of.kernel_timeout ? "one that runs too long is stopped" : "one that hangs, hangs");
  row("integrated", yes_or_no(of.integrated), "shares the host's memory chips");
  row("maps host memory", yes_or_no(of.maps_host_memory), "kernels can use the host's in place");
  row("compute mode", std::to_string(of.compute_mode), compute_mode(of.compute_mode));
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("01.3_device_query", "Says what each device is and what its limits are.");

  return program.run(argc, argv, [&] {
    const auto reports = lab::device_query::query_all();
    for (const report& each : reports) print(each);
    std::printf("\n");
    if (!program.verdict(lab::device_query::check(reports))) return false;
    if (lab::on_cpu_device()) {
      std::printf("The CPU device's memory clock and bus are made up: hosts do not tell theirs.\n");
      return true;
    }
    const double theoretical = reports[static_cast<std::size_t>(program.device())].bandwidth;
    const double measured = lab::copy_bandwidth();
    std::printf("device %d copies within its memory at %.1f GB/s", program.device(),
                measured / 1e9);
    if (theoretical > 0)
      std::printf(": %.0f %% of the theoretical bandwidth", 100 * measured / theoretical);
    std::printf("\n");
    return true;
  });
}
