// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cub/detail/device.cuh>

namespace cub {

/// Sorts by comparing, also what is no number. All of them are stable.
struct DeviceMergeSort {
#define CUB_CPU_DEVICE_SORT(NAME)                                                               \
  template <class Keys, class Count, class Less>                                                \
  static cudaError_t NAME##Keys(void* temp, std::size_t& temp_bytes, Keys keys, Count n,        \
                                Less less, cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {    \
    NullType* const none = nullptr;                                                             \
    return sort("cub::DeviceMergeSort::" #NAME "Keys", temp, temp_bytes, keys, none, n, less,   \
                stream, file, line);                                                            \
  }                                                                                             \
  template <class Keys, class Items, class Count, class Less>                                   \
  static cudaError_t NAME##Pairs(void* temp, std::size_t& temp_bytes, Keys keys, Items items,   \
                                 Count n, Less less, cudaStream_t stream = nullptr,             \
                                 CPU_DEVICE_HERE) {                                             \
    return sort("cub::DeviceMergeSort::" #NAME "Pairs", temp, temp_bytes, keys, items, n, less, \
                stream, file, line);                                                            \
  }
  CUB_CPU_DEVICE_SORT(Sort)
  CUB_CPU_DEVICE_SORT(StableSort)
#undef CUB_CPU_DEVICE_SORT

 private:
  template <class Keys, class Items, class Count, class Less>
  requires std::is_integral_v<Count>
  static cudaError_t sort(const char* name, void* temp, std::size_t& temp_bytes, Keys keys,
                          Items items, Count n, Less less, cudaStream_t stream, const char* file,
                          int line) {
    CUB_CPU_DEVICE_CALL(name);
    using Key = detail::value_of<Keys>;
    using Item = detail::value_of<Items>;
    constexpr bool kPairs = !std::is_same_v<Item, NullType>;
    const std::size_t key_bytes = detail::aligned(static_cast<std::size_t>(n) * sizeof(Key));
    const std::size_t item_bytes = kPairs ? static_cast<std::size_t>(n) * sizeof(Item) : 0;
    return call(
        key_bytes + item_bytes,
        [=]() mutable {
          auto* const k = static_cast<Key*>(temp);
          auto* const v = reinterpret_cast<Item*>(static_cast<char*>(temp) + key_bytes);
          // Runs of `run` items are sorted; two of them become one in the scratch memory.
          for (std::int64_t run = 1; run < n; run *= 2) {
            for (std::int64_t first = 0; first < n; first += 2 * run) {
              const std::int64_t middle = std::min<std::int64_t>(first + run, n);
              const std::int64_t end = std::min<std::int64_t>(first + 2 * run, n);
              std::int64_t a = first, b = middle;
              for (std::int64_t to = first; to < end; ++to) {
                const bool from_b = a == middle || (b < end && less(keys[b], keys[a]));
                const std::int64_t from = from_b ? b++ : a++;
                k[to] = keys[from];
                if constexpr (kPairs) v[to] = items[from];
              }
            }
            for (std::int64_t i = 0; i < n; ++i) {
              keys[i] = k[i];
              if constexpr (kPairs) items[i] = v[i];
            }
          }
        },
        keys, items);
  }
};

}  // namespace cub
