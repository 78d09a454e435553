// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 12.3 portable_pinned: who does what. Given; 12.2 is about it.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "dot_kernel.hpp"
#include "lab/cuda_check.hpp"
#include "lab/host_threads.hpp"
#include "lab/keep_current_device.hpp"

namespace lab::portable_pinned {

/// One device's share of the work.
struct part {
  int device = 0;
  std::size_t begin = 0, size = 0;  ///< its elements
  unsigned blocks = 0;              ///< of its grid
  std::size_t first_sum = 0;        ///< where its blocks' sums begin, among those of all devices
};

/// The parts of n elements that have elements, for the devices from 0 on.
inline std::vector<part> parts_of(std::size_t n, std::size_t devices) {
  const auto cut = [=](std::size_t k) {  // n * k / devices, without a product that is too large
    return n / devices * k + n % devices * k / devices;
  };
  std::vector<part> parts;
  std::size_t sums = 0;
  for (std::size_t k = 0; k < devices; ++k) {
    const std::size_t size = cut(k + 1) - cut(k);
    if (size == 0) continue;
    int processors = 0;
    CUDA_CHECK(
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, static_cast<int>(k)));
    const std::size_t most = 4 * static_cast<std::size_t>(processors);
    const auto blocks = static_cast<unsigned>(std::min((size + kThreads - 1) / kThreads, most));
    parts.push_back({static_cast<int>(k), cut(k), size, blocks, sums});
    sums += blocks;
  }
  return parts;
}

/// work(part) for each of them, each in a host thread of its own. Ends when all have ended, with
/// the first one's exception if there is any.
template <class Work>
void in_a_thread_each(const std::vector<part>& parts, const Work& work) {
  in_host_threads(parts.size(), [&](std::size_t k) { work(parts[k]); });
}

}  // namespace lab::portable_pinned
