// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Compiled by nvcc: CUB's functions contain kernels.

#include <cstddef>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_segmented_sort.cuh>
#include <limits>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/sort_baseline.hpp"
#include "lab/time_kernel.hpp"

namespace lab {

std::optional<float> library_sort_milliseconds(std::span<const std::uint32_t> keys,
                                               std::span<const std::uint32_t> values,
                                               batch arrays) {
  if (keys.empty() || keys.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    return std::nullopt;
  constexpr int kRuns = 20;
  const int n = static_cast<int>(keys.size());
  const int segments = static_cast<int>(arrays.count);
  const device_buffer<std::uint32_t> keys_in(keys), values_in(values);
  device_buffer<std::uint32_t> keys_out(keys.size()), values_out(values.size());
  std::vector<int> ends(arrays.count + 1);
  for (std::size_t i = 0; i < ends.size(); ++i) ends[i] = static_cast<int>(i * arrays.length);
  const device_buffer<int> edges{std::span<const int>(ends)};

  std::size_t scratch_bytes = 0;
  const auto run = [&](void* scratch) {
    if (segments == 1 && values.empty())
      CUDA_CHECK(cub::DeviceRadixSort::SortKeys(scratch, scratch_bytes, keys_in.data(),
                                                keys_out.data(), n));
    else if (segments == 1)
      CUDA_CHECK(cub::DeviceRadixSort::SortPairs(scratch, scratch_bytes, keys_in.data(),
                                                 keys_out.data(), values_in.data(),
                                                 values_out.data(), n));
    else if (values.empty())
      CUDA_CHECK(cub::DeviceSegmentedSort::SortKeys(scratch, scratch_bytes, keys_in.data(),
                                                    keys_out.data(), n, segments, edges.data(),
                                                    edges.data() + 1));
    else
      CUDA_CHECK(cub::DeviceSegmentedSort::SortPairs(
          scratch, scratch_bytes, keys_in.data(), keys_out.data(), values_in.data(),
          values_out.data(), n, segments, edges.data(), edges.data() + 1));
  };
  run(nullptr);                                             // asks how much memory it needs
  device_buffer<unsigned char> scratch(scratch_bytes + 1);  // with 0 bytes it would ask again

  // Our sorts work in place and so begin each sample anew: CUB gets single runs like theirs, too.
  const repeated_timing samples(kRuns);
  return time_kernel([&] { run(scratch.data()); }, [] {});
}

}  // namespace lab
