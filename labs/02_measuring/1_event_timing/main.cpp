// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 02.1 event_timing: the program.

#include <cstddef>
#include <cstdio>

#include "event_timing.hpp"
#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "reference.hpp"

namespace {

void row(const char* label, float milliseconds, long long cycles) {
  std::printf("  %-14s %10.4f ms  %12lld cycles", label, static_cast<double>(milliseconds), cycles);
  if (milliseconds > 0)
    std::printf("  %.3f GHz",
                static_cast<double>(cycles) / static_cast<double>(milliseconds) / 1e6);
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("02.1_event_timing", "Measures two kernels with events.");
  std::size_t size = 20'000'000;
  program
      .add_size("--size", size, "clock cycles of the first kernel; the second takes twice as many")
      .at_most(lab::event_timing::kMostCycles / 2);

  return program.run(argc, argv, [&] {
    const auto first = static_cast<long long>(size);
    const long long second = 2 * first;
    (void)lab::event_timing::measure(0, 0);  // the first launch of a program takes longer
    const auto t = lab::event_timing::measure(first, second);
    if (!program.verdict(lab::event_timing::check(t, first, second))) return false;

    std::printf("by the events on the device:\n");
    row("first kernel", t.first_ms, t.first_cycles);
    row("second kernel", t.second_ms, t.second_cycles);
    row("both", t.both_ms, t.first_cycles + t.second_cycles);
    std::printf("by the host's clock:\n");
    std::printf("  both launched  %10.4f ms\n", t.launched_ms);
    std::printf("  asked          %10.4f ms  %s\n", t.asked_ms,
                t.too_early ? "too early: cudaErrorNotReady" : "the time was known already");
    std::printf("  waited         %10.4f ms\n", t.waited_ms);
    if (lab::on_cpu_device())
      std::printf(
          "CPU device: no GPU's times, and its kernels run while they are launched. With\n"
          "CPU_DEVICE_STREAMS=deferred in the environment they run when the host waits for "
          "them.\n");
    return true;
  });
}
