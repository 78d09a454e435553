// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: CUDA itself says that there is no such device, and one that is the
// current device already is left alone. The best device is the first of a sorted list.

// So that CUDA_CHECK's __FILE__ is that of the file which this one replaces:
#line 10 "choose_device.cu"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <tuple>

#include "given.hpp"

namespace lab::choose_device {
namespace {

int current() {
  int device = -1;
  CUDA_CHECK(cudaGetDevice(&device));
  return device;
}

// The smaller, the better.
std::tuple<std::int64_t, std::size_t, int> rank(const candidate& one) {
  return {-std::int64_t{one.multiprocessors} * one.clock_khz, ~one.global_bytes, one.device};
}

}  // namespace

std::vector<candidate> list_candidates() {
  std::vector<candidate> list(static_cast<std::size_t>(count_devices()));
  int device = 0;
  for (candidate& one : list) {
    cudaDeviceProp properties{};
    CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
    one = {device,
           attribute(cudaDevAttrComputeCapabilityMajor, device),
           attribute(cudaDevAttrComputeCapabilityMinor, device),
           properties.totalGlobalMem,
           attribute(cudaDevAttrMultiProcessorCount, device),
           attribute(cudaDevAttrClockRate, device),
           attribute(cudaDevAttrComputeMode, device)};
    ++device;
  }
  return list;
}

std::optional<int> best(std::span<const candidate> list, const requirement& needed) {
  std::vector<candidate> left;
  std::copy_if(list.begin(), list.end(), std::back_inserter(left), [&](const candidate& one) {
    return std::tie(one.compute_major, one.compute_minor) >=
               std::tie(needed.compute_major, needed.compute_minor) &&
           one.global_bytes >= needed.global_bytes && one.compute_mode != cudaComputeModeProhibited;
  });
  std::sort(left.begin(), left.end(),
            [](const candidate& x, const candidate& y) { return rank(x) < rank(y); });
  return left.empty() ? std::nullopt : std::optional(left.front().device);
}

int select(int device) {
  if (device != current()) {
    const cudaError_t status = cudaSetDevice(device);
    if (status == cudaErrorInvalidDevice) {
      (void)cudaGetLastError();
      throw invalid_input("choose_device: there is no device " + std::to_string(device));
    }
    CUDA_CHECK(status);
  }
  return current();
}

}  // namespace lab::choose_device
