// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Compiled by nvcc: CUB's functions contain kernels.

#include <cstddef>
#include <cub/device/device_histogram.cuh>
#include <limits>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/histogram_baseline.hpp"
#include "lab/time_kernel.hpp"

namespace lab {

std::optional<float> library_histogram_milliseconds(std::span<const std::uint8_t> bytes) {
  if (bytes.empty() || bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    return std::nullopt;
  constexpr int kBins = 256;
  constexpr int kRuns = 20;
  const device_buffer<std::uint8_t> device_bytes(bytes);
  device_buffer<unsigned> counts(kBins);

  std::size_t scratch_bytes = 0;
  const auto run = [&](void* scratch) {
    CUDA_CHECK(cub::DeviceHistogram::HistogramEven(scratch, scratch_bytes, device_bytes.data(),
                                                   counts.data(), kBins + 1, 0, kBins,
                                                   static_cast<int>(bytes.size())));
  };
  run(nullptr);                                             // asks how much memory it needs
  device_buffer<unsigned char> scratch(scratch_bytes + 1);  // with 0 bytes it would ask again

  const repeated_timing samples(kRuns);
  return time_kernel([&] { run(scratch.data()); });
}

}  // namespace lab
