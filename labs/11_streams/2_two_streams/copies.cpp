// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "copies.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/pinned_buffer.hpp"
#include "lab/report.hpp"
#include "lab/timer.hpp"

namespace lab::two_streams {
namespace {

/// The median time of copying n elements `times` times over.
double measure(cudaMemcpyKind direction, int times, std::size_t n, std::size_t chunk, int repeats,
               int* host, device_buffer<int>& device) {
  std::vector<float> milliseconds;
  for (int i = 0; i <= repeats; ++i) {
    event_timer timer;
    timer.start();
    for (std::size_t first = 0; first < n; first += chunk) {
      const std::size_t bytes = std::min(chunk, n - first) * sizeof(int);
      for (int k = 0; k < times; ++k) {
        if (direction == cudaMemcpyHostToDevice)
          CUDA_CHECK(cudaMemcpyAsync(device.data(), host + first, bytes, direction, nullptr));
        else
          CUDA_CHECK(cudaMemcpyAsync(host + first, device.data(), bytes, direction, nullptr));
      }
    }
    timer.stop();
    const float time = timer.milliseconds();
    if (i > 0) milliseconds.push_back(time);  // the first one is the warm-up
  }
  return summarize(milliseconds).median_ms;
}

}  // namespace

copy_times measure_copies(std::size_t n, std::size_t chunk, int repeats) {
  pinned_buffer<int> host(n);
  device_buffer<int> device(std::min(chunk, n));
  return {measure(cudaMemcpyHostToDevice, 2, n, chunk, repeats, host.data(), device),
          measure(cudaMemcpyDeviceToHost, 1, n, chunk, repeats, host.data(), device)};
}

}  // namespace lab::two_streams
