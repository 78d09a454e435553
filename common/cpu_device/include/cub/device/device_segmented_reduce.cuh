// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cub/detail/device.cuh>

namespace cub {

/// Segment s is in[begin_offsets[s]] up to (not with) in[end_offsets[s]].
struct DeviceSegmentedReduce {
  template <class In, class Out, class Begin, class End, class Op, class T>
  static cudaError_t Reduce(void* temp, std::size_t& temp_bytes, In in, Out out,
                            std::int64_t num_segments, Begin begin_offsets, End end_offsets, Op op,
                            T init, cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {
    CUB_CPU_DEVICE_CALL("cub::DeviceSegmentedReduce::Reduce");
    using Accumulator = detail::result_of<Op, T, detail::value_of<In>>;
    return call(
        1,
        [=]() mutable {
          for (std::int64_t s = 0; s < num_segments; ++s)
            out[s] =
                detail::reduce<Accumulator>(in, static_cast<std::int64_t>(begin_offsets[s]),
                                            static_cast<std::int64_t>(end_offsets[s]), op, init);
        },
        in, out, begin_offsets, end_offsets);
  }
  template <class In, class Out, class Begin, class End>
  static cudaError_t Sum(void* temp, std::size_t& temp_bytes, In in, Out out,
                         std::int64_t num_segments, Begin begin_offsets, End end_offsets,
                         cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {
    using T = detail::value_of_either<Out, In>;
    return Reduce(temp, temp_bytes, in, out, num_segments, begin_offsets, end_offsets, cub::Sum(),
                  T{}, stream, file, line);
  }
  template <class In, class Out, class Begin, class End>
  static cudaError_t Min(void* temp, std::size_t& temp_bytes, In in, Out out,
                         std::int64_t num_segments, Begin begin_offsets, End end_offsets,
                         cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {
    using T = detail::value_of<In>;
    return Reduce(temp, temp_bytes, in, out, num_segments, begin_offsets, end_offsets, cub::Min(),
                  std::numeric_limits<T>::max(), stream, file, line);
  }
  template <class In, class Out, class Begin, class End>
  static cudaError_t Max(void* temp, std::size_t& temp_bytes, In in, Out out,
                         std::int64_t num_segments, Begin begin_offsets, End end_offsets,
                         cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {
    using T = detail::value_of<In>;
    return Reduce(temp, temp_bytes, in, out, num_segments, begin_offsets, end_offsets, cub::Max(),
                  std::numeric_limits<T>::lowest(), stream, file, line);
  }
};

}  // namespace cub
