// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 02.2 copy_rates: what copy_rates.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>

#include "copy_rates.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/timer.hpp"

namespace lab::copy_rates {

/// What CUDA says of host memory. (Given.)
inline bool is_pinned(const void* memory) {
  cudaPointerAttributes attributes{};
  CUDA_CHECK(cudaPointerGetAttributes(&attributes, memory));
  return attributes.type == cudaMemoryTypeHost;
}

/// copy(), with the class and the function of copy_rates.cu. The source holds the bytes, the
/// destination holds something else.
template <class PinnedBytes, class TimeCopies>
result host_part_of_copy(const TimeCopies& time_copies, memory host_memory, direction dir,
                         std::span<const std::uint8_t> bytes, unsigned copies) {
  refuse_if(copies == 0, "copy_rates: 0 copies take no time; ask for at least one");
  const std::size_t n = bytes.size();
  if (n == 0) return {};

  std::vector<std::uint8_t> ordinary(host_memory == memory::pageable ? n : 0);
  PinnedBytes pinned(host_memory == memory::pinned ? n : 0);
  const std::span<std::uint8_t> host = host_memory == memory::pageable ? ordinary : pinned.span();
  device_buffer<std::uint8_t> device(n);  // filled with 0xFF

  result r;
  r.pinned = is_pinned(host.data());
  r.arrived.resize(n);
  if (dir == direction::to_device) {
    std::copy(bytes.begin(), bytes.end(), host.begin());
    r.milliseconds = time_copies(dir, host, device.data(), copies);
    device.copy_to(r.arrived);
  } else {
    device.copy_from(bytes);
    // Writing to it also makes the system find the pages, which would be in the time otherwise.
    std::fill(host.begin(), host.end(), std::uint8_t{0xFF});
    r.milliseconds = time_copies(dir, host, device.data(), copies);
    std::copy(host.begin(), host.end(), r.arrived.begin());
  }
  return r;
}

}  // namespace lab::copy_rates
