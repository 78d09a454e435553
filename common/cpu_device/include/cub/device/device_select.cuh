// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cub/detail/device.cuh>

namespace cub {

/// What is selected keeps its order; how much it is goes to num_selected[0]. The functions without
/// an output work in place.
struct DeviceSelect {
  template <class In, class Out, class Number, class Count, class Predicate>
  requires std::is_integral_v<Count>
  static cudaError_t If(void* temp, std::size_t& temp_bytes, In in, Out out, Number num_selected,
                        Count n, Predicate predicate, cudaStream_t stream = nullptr,
                        CPU_DEVICE_HERE) {
    CUB_CPU_DEVICE_CALL("cub::DeviceSelect::If");
    return call(
        1,
        [=]() mutable {
          Count kept = 0;
          for (Count i = 0; i < n; ++i) {
            const detail::value_of<In> item = in[i];
            if (predicate(item)) out[kept++] = item;
          }
          num_selected[0] = kept;
        },
        in, out, num_selected);
  }
  template <class InOut, class Number, class Count, class Predicate>
  requires std::is_integral_v<Count>
  static cudaError_t If(void* temp, std::size_t& temp_bytes, InOut data, Number num_selected,
                        Count n, Predicate predicate, cudaStream_t stream = nullptr,
                        CPU_DEVICE_HERE) {
    return If(temp, temp_bytes, data, data, num_selected, n, predicate, stream, file, line);
  }
  template <class In, class Flags, class Out, class Number, class Count>
  requires std::is_integral_v<Count>
  static cudaError_t Flagged(void* temp, std::size_t& temp_bytes, In in, Flags flags, Out out,
                             Number num_selected, Count n, cudaStream_t stream = nullptr,
                             CPU_DEVICE_HERE) {
    CUB_CPU_DEVICE_CALL("cub::DeviceSelect::Flagged");
    return call(
        1,
        [=]() mutable {
          Count kept = 0;
          for (Count i = 0; i < n; ++i) {
            const detail::value_of<In> item = in[i];
            if (flags[i]) out[kept++] = item;
          }
          num_selected[0] = kept;
        },
        in, flags, out, num_selected);
  }
  template <class InOut, class Flags, class Number, class Count>
  requires std::is_integral_v<Count>
  static cudaError_t Flagged(void* temp, std::size_t& temp_bytes, InOut data, Flags flags,
                             Number num_selected, Count n, cudaStream_t stream = nullptr,
                             CPU_DEVICE_HERE) {
    return Flagged(temp, temp_bytes, data, flags, data, num_selected, n, stream, file, line);
  }
  /// The first of each run of equal items.
  template <class In, class Out, class Number, class Count>
  requires std::is_integral_v<Count>
  static cudaError_t Unique(void* temp, std::size_t& temp_bytes, In in, Out out,
                            Number num_selected, Count n, cudaStream_t stream = nullptr,
                            CPU_DEVICE_HERE) {
    CUB_CPU_DEVICE_CALL("cub::DeviceSelect::Unique");
    return call(
        1,
        [=]() mutable {
          Count kept = 0;
          for (Count i = 0; i < n; ++i)
            if (i == 0 || !(in[i - 1] == in[i])) out[kept++] = in[i];
          num_selected[0] = kept;
        },
        in, out, num_selected);
  }
  template <class Keys, class Values, class KeysOut, class ValuesOut, class Number, class Count,
            class Equal>
  requires(!std::is_convertible_v<Equal, cudaStream_t>) static cudaError_t
      UniqueByKey(void* temp, std::size_t& temp_bytes, Keys keys, Values values, KeysOut keys_out,
                  ValuesOut values_out, Number num_selected, Count n, Equal equal,
                  cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {
    CUB_CPU_DEVICE_CALL("cub::DeviceSelect::UniqueByKey");
    return call(
        1,
        [=]() mutable {
          Count kept = 0;
          for (Count i = 0; i < n; ++i)
            if (i == 0 || !equal(keys[i - 1], keys[i])) {
              keys_out[kept] = keys[i];
              values_out[kept++] = values[i];
            }
          num_selected[0] = kept;
        },
        keys, values, keys_out, values_out, num_selected);
  }
  template <class Keys, class Values, class KeysOut, class ValuesOut, class Number, class Count>
  requires std::is_integral_v<Count>
  static cudaError_t UniqueByKey(void* temp, std::size_t& temp_bytes, Keys keys, Values values,
                                 KeysOut keys_out, ValuesOut values_out, Number num_selected,
                                 Count n, cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {
    return UniqueByKey(temp, temp_bytes, keys, values, keys_out, values_out, num_selected, n,
                       Equality(), stream, file, line);
  }
};

}  // namespace cub
