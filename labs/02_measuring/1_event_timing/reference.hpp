// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 02.1 event_timing: what must hold of the times, however fast or busy the machine is.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <string>

#include "event_timing.hpp"
#include "lab/closeness.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_limits.hpp"

namespace lab::event_timing {

/// The least time that `cycles` can take on the current device: at its highest clock. On the CPU
/// device the cycles are those of the processor's counter, whose speed no system call tells; no
/// processor counts faster than 10 GHz.
inline double least_ms(long long cycles) {
  int cycles_per_ms = 10'000'000;  // 10 GHz
  if (!on_cpu_device()) {
    int device = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&cycles_per_ms, cudaDevAttrClockRate, device));  // kHz
  }
  return static_cast<double>(cycles) / cycles_per_ms;
}

/// How much the sum of two intervals may differ from the whole. Events have a resolution of about
/// half a microsecond, and three times are read; each is rounded to a float, by 2^-24 of itself.
inline double additive_within_ms(double whole_ms) { return 3 * (0.0005 + 0x1p-24 * whole_ms); }

/// Two clocks that measure the same do not agree in every digit: the host's and the device's are
/// two crystals, and a kernel's cycles are counted by a third. A hundredth is generous.
constexpr double kClocksAgree = 0.01;

/// Whether `t` can be true of kernels that were asked to let `first` and `second` cycles pass. Only
/// what must be so on every machine: nothing here says how long anything should take at most.
inline comparison check(const times& t, long long first, long long second) {
  const auto wrong = [](const std::string& reason) { return comparison{false, reason}; };
  const double ms[] = {t.first_ms, t.second_ms, t.both_ms, t.launched_ms, t.asked_ms, t.waited_ms};
  for (const double time : ms)
    if (!std::isfinite(time) || time < 0) return wrong("a time is negative, or no number");

  if (t.first_cycles < first || t.second_cycles < second)
    return wrong("a kernel counted fewer cycles than it was asked for: did both of them run?");
  const auto long_enough = [](double time, long long cycles) {
    return time >= (1 - kClocksAgree) * least_ms(cycles) - 0.0005;
  };
  if (!long_enough(t.first_ms, t.first_cycles))
    return wrong("the first kernel counted more cycles than fit between the first two marks");
  if (!long_enough(t.second_ms, t.second_cycles))
    return wrong("the second kernel counted more cycles than fit between the last two marks");

  const double sum = static_cast<double>(t.first_ms) + static_cast<double>(t.second_ms);
  if (std::fabs(sum - t.both_ms) > additive_within_ms(t.both_ms))
    return wrong("the two intervals (" + std::to_string(sum) + " ms) are not the whole (" +
                 std::to_string(t.both_ms) + " ms)");

  if (t.launched_ms > t.asked_ms || t.asked_ms > t.waited_ms)
    return wrong("the host's clock ran backwards");
  // The host began to measure before the first mark, and stopped after the last.
  if (t.both_ms > (1 + kClocksAgree) * t.waited_ms + 0.0015)
    return wrong("the events were " + std::to_string(t.both_ms) + " ms apart, but the host was " +
                 "back after " + std::to_string(t.waited_ms) + " ms: did it wait?");
  // As long as the kernels cannot be through, the last mark cannot have been reached.
  if (!t.too_early && t.asked_ms < (1 - kClocksAgree) * least_ms(first + second))
    return wrong("CUDA told a time before the kernels can have ended");
  return {true, "the times add up, and the kernels fit into them"};
}

}  // namespace lab::event_timing
