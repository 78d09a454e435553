// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 12.1 zero_copy_dot: how fast data can get from the host to the device at best.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/report.hpp"
#include "lab/timer.hpp"

namespace lab::zero_copy_dot {

/// Bytes per second of cudaMemcpy from pinned host memory to the current device, measured now: the
/// median of 10 copies of 256 MiB, after a warm-up.
inline double pinned_copy_rate() {
  constexpr std::size_t kBytes = std::size_t{256} << 20;
  constexpr int kRuns = 10;
  void* memory = nullptr;
  CUDA_CHECK(cudaHostAlloc(&memory, kBytes, cudaHostAllocDefault));
  const auto free_pinned = [](void* pinned) { CUDA_CHECK_NOTHROW(cudaFreeHost(pinned)); };
  const std::unique_ptr<void, decltype(free_pinned)> from(memory, free_pinned);
  device_buffer<unsigned char> to(kBytes);
  event_timer timer;
  std::vector<float> times;
  for (int run = 0; run <= kRuns; ++run) {
    timer.start();
    CUDA_CHECK(cudaMemcpyAsync(to.data(), from.get(), kBytes, cudaMemcpyHostToDevice, nullptr));
    timer.stop();
    const float elapsed = timer.milliseconds();
    if (run > 0) times.push_back(elapsed);
  }
  return static_cast<double>(kBytes) / (summarize(times).median_ms / 1000);
}

}  // namespace lab::zero_copy_dot
