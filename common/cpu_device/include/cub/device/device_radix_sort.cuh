// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cub/detail/device.cuh>

namespace cub {

/// Stable sorts by the bits begin_bit .. end_bit - 1 of keys that are numbers. The two zeros of
/// floating-point keys are equal; NaNs come after (before, if their sign is set) all numbers. Input
/// and output may not overlap; with DoubleBuffers the result is in Current() afterwards.
struct DeviceRadixSort {
#define CUB_CPU_DEVICE_SORT(NAME, DESCENDING)                                                      \
  template <class Key, class Value, class Count>                                                   \
  static cudaError_t SortPairs##NAME(void* temp, std::size_t& temp_bytes, const Key* keys_in,      \
                                     Key* keys_out, const Value* values_in, Value* values_out,     \
                                     Count n, int begin_bit = 0, int end_bit = sizeof(Key) * 8,    \
                                     cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {             \
    return sort<DESCENDING>("cub::DeviceRadixSort::SortPairs" #NAME, temp, temp_bytes, keys_in,    \
                            keys_out, values_in, values_out, n, begin_bit, end_bit, stream, file,  \
                            line);                                                                 \
  }                                                                                                \
  template <class Key, class Count>                                                                \
  static cudaError_t SortKeys##NAME(void* temp, std::size_t& temp_bytes, const Key* keys_in,       \
                                    Key* keys_out, Count n, int begin_bit = 0,                     \
                                    int end_bit = sizeof(Key) * 8, cudaStream_t stream = nullptr,  \
                                    CPU_DEVICE_HERE) {                                             \
    NullType* const none = nullptr;                                                                \
    return sort<DESCENDING, Key, NullType>("cub::DeviceRadixSort::SortKeys" #NAME, temp,           \
                                           temp_bytes, keys_in, keys_out, none, none, n,           \
                                           begin_bit, end_bit, stream, file, line);                \
  }                                                                                                \
  template <class Key, class Value, class Count>                                                   \
  static cudaError_t SortPairs##NAME(void* temp, std::size_t& temp_bytes, DoubleBuffer<Key>& keys, \
                                     DoubleBuffer<Value>& values, Count n, int begin_bit = 0,      \
                                     int end_bit = sizeof(Key) * 8, cudaStream_t stream = nullptr, \
                                     CPU_DEVICE_HERE) {                                            \
    return sort_buffers<DESCENDING>("cub::DeviceRadixSort::SortPairs" #NAME, temp, temp_bytes,     \
                                    keys, values, n, begin_bit, end_bit, stream, file, line);      \
  }                                                                                                \
  template <class Key, class Count>                                                                \
  static cudaError_t SortKeys##NAME(void* temp, std::size_t& temp_bytes, DoubleBuffer<Key>& keys,  \
                                    Count n, int begin_bit = 0, int end_bit = sizeof(Key) * 8,     \
                                    cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {              \
    DoubleBuffer<NullType> none;                                                                   \
    return sort_buffers<DESCENDING>("cub::DeviceRadixSort::SortKeys" #NAME, temp, temp_bytes,      \
                                    keys, none, n, begin_bit, end_bit, stream, file, line);        \
  }
  CUB_CPU_DEVICE_SORT(, false)
  CUB_CPU_DEVICE_SORT(Descending, true)
#undef CUB_CPU_DEVICE_SORT

 private:
  template <bool Descending, class Key, class Value, class Count>
  requires std::is_integral_v<Count>
  static cudaError_t sort(const char* name, void* temp, std::size_t& temp_bytes, const Key* keys_in,
                          Key* keys_out, const Value* values_in, Value* values_out, Count n,
                          int begin_bit, int end_bit, cudaStream_t stream, const char* file,
                          int line) {
    CUB_CPU_DEVICE_CALL(name);
    constexpr bool kPairs = !std::is_same_v<Value, NullType>;
    const std::size_t key_bytes = detail::aligned(static_cast<std::size_t>(n) * sizeof(Key));
    const std::size_t value_bytes = kPairs ? static_cast<std::size_t>(n) * sizeof(Value) : 0;
    return call(
        key_bytes + value_bytes,
        [=]() mutable {
          if (detail::radix_passes(begin_bit, end_bit) == 0) {
            for (Count i = 0; i < n; ++i) {
              keys_out[i] = keys_in[i];
              if constexpr (kPairs) values_out[i] = values_in[i];
            }
          }
          detail::radix_sort<Descending>(
              keys_in, keys_out, static_cast<Key*>(temp), values_in, values_out,
              reinterpret_cast<Value*>(static_cast<char*>(temp) + key_bytes), n, begin_bit,
              end_bit);
        },
        keys_in, keys_out, values_in, values_out);
  }
  template <bool Descending, class Key, class Value, class Count>
  requires std::is_integral_v<Count>
  static cudaError_t sort_buffers(const char* name, void* temp, std::size_t& temp_bytes,
                                  DoubleBuffer<Key>& keys, DoubleBuffer<Value>& values, Count n,
                                  int begin_bit, int end_bit, cudaStream_t stream, const char* file,
                                  int line) {
    CUB_CPU_DEVICE_CALL(name);
    const int result = detail::radix_passes(begin_bit, end_bit) % 2;
    const DoubleBuffer<Key> k = keys;
    const DoubleBuffer<Value> v = values;
    const cudaError_t status = call(
        1,
        [=]() mutable {
          const int odd_key = k.selector ^ result, odd_value = v.selector ^ result;
          detail::radix_sort<Descending>(k.d_buffers[k.selector], k.d_buffers[odd_key],
                                         k.d_buffers[odd_key ^ 1], v.d_buffers[v.selector],
                                         v.d_buffers[odd_value], v.d_buffers[odd_value ^ 1], n,
                                         begin_bit, end_bit);
        },
        k.d_buffers[0], k.d_buffers[1], v.d_buffers[0], v.d_buffers[1]);
    if (temp != nullptr && status == cudaSuccess) {
      keys.selector ^= result;
      values.selector ^= result;
    }
    return status;
  }
};

}  // namespace cub
