// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 02.2 copy_rates: what the rate of a pinned copy is compared with.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "copy_rates.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/pinned_buffer.hpp"
#include "lab/report.hpp"
#include "lab/timer.hpp"

namespace lab::copy_rates {

/// The time of one bare cudaMemcpy of n bytes of pinned memory, in milliseconds by the *host's*
/// clock: the median of `repeat`, after one to warm up. (cudaMemcpy of pinned memory returns when
/// the copy is done, so here the host's clock is a witness that knows nothing of events.)
inline double bare_pinned_ms(direction dir, std::size_t n, int repeat) {
  pinned_buffer<std::uint8_t> host(n);
  device_buffer<std::uint8_t> device(n);

  std::vector<float> times;
  for (int i = 0; i <= repeat; ++i) {
    const host_timer clock;
    if (dir == direction::to_device)
      CUDA_CHECK(cudaMemcpy(device.data(), host.data(), n, cudaMemcpyHostToDevice));
    else
      CUDA_CHECK(cudaMemcpy(host.data(), device.data(), n, cudaMemcpyDeviceToHost));
    if (i > 0) times.push_back(static_cast<float>(clock.milliseconds()));
  }
  return summarize(times).median_ms;
}

}  // namespace lab::copy_rates
