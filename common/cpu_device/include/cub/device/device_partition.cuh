// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cub/detail/device.cuh>

namespace cub {

/// What is selected comes first and keeps its order; the rest follows in reverse order.
struct DevicePartition {
  template <class In, class Out, class Number, class Count, class Predicate>
  requires std::is_integral_v<Count>
  static cudaError_t If(void* temp, std::size_t& temp_bytes, In in, Out out, Number num_selected,
                        Count n, Predicate predicate, cudaStream_t stream = nullptr,
                        CPU_DEVICE_HERE) {
    CUB_CPU_DEVICE_CALL("cub::DevicePartition::If");
    return call(
        1,
        [=]() mutable {
          Count kept = 0;
          for (Count i = 0; i < n; ++i) {
            const detail::value_of<In> item = in[i];
            if (predicate(item))
              out[kept++] = item;
            else
              out[n - 1 - (i - kept)] = item;
          }
          num_selected[0] = kept;
        },
        in, out, num_selected);
  }
  template <class In, class Flags, class Out, class Number, class Count>
  requires std::is_integral_v<Count>
  static cudaError_t Flagged(void* temp, std::size_t& temp_bytes, In in, Flags flags, Out out,
                             Number num_selected, Count n, cudaStream_t stream = nullptr,
                             CPU_DEVICE_HERE) {
    CUB_CPU_DEVICE_CALL("cub::DevicePartition::Flagged");
    return call(
        1,
        [=]() mutable {
          Count kept = 0;
          for (Count i = 0; i < n; ++i) {
            if (flags[i])
              out[kept++] = in[i];
            else
              out[n - 1 - (i - kept)] = in[i];
          }
          num_selected[0] = kept;
        },
        in, flags, out, num_selected);
  }
};

}  // namespace cub
