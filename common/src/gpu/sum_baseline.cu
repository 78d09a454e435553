// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Compiled by nvcc: CUB's functions contain kernels.

#include <cstddef>
#include <cub/device/device_reduce.cuh>
#include <limits>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/sum_baseline.hpp"
#include "lab/time_kernel.hpp"

namespace lab {

std::optional<float> library_sum_milliseconds(std::span<const std::uint32_t> values) {
  if (values.empty() || values.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    return std::nullopt;
  constexpr int kRuns = 20;
  const device_buffer<std::uint32_t> device_values(values);
  device_buffer<std::uint32_t> total(1);

  std::size_t scratch_bytes = 0;
  const auto run = [&](void* scratch) {
    CUDA_CHECK(cub::DeviceReduce::Sum(scratch, scratch_bytes, device_values.data(), total.data(),
                                      static_cast<int>(values.size())));
  };
  run(nullptr);                                             // asks how much memory it needs
  device_buffer<unsigned char> scratch(scratch_bytes + 1);  // with 0 bytes it would ask again

  // Our sum sets its total to 0 before each sample: CUB gets single runs like that, too.
  const repeated_timing samples(kRuns);
  return time_kernel([&] { run(scratch.data()); }, [] {});
}

}  // namespace lab
