// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cub/block/block_exchange.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/util_type.cuh>

namespace cub {

/// Sorts the items of a block by their bits begin_bit .. end_bit - 1, with or without values. Equal
/// keys keep their order. Items are in blocked order before and, unless the name says striped,
/// after it. Keys are numbers.
template <class Key, int X, int Items, class Value = NullType, int RadixBits = 4,
          bool MemoizeOuterScan = true,
          BlockScanAlgorithm InnerScanAlgorithm = BLOCK_SCAN_WARP_SCANS, int SharedMemoryConfig = 0,
          int Y = 1, int Z = 1>
class BlockRadixSort {
  static constexpr int kThreads = X * Y * Z;
  static constexpr int kItems = kThreads * Items;
  static constexpr bool kHasValues = !std::is_same_v<Value, NullType>;
  struct storage {
    detail::slots<Key, kItems> key[2];  // sorted from one to the other, and back
    detail::slots<Value, kHasValues ? kItems : 1> value[2];
    detail::reuse_guard<kThreads> guard;
  };

 public:
  using TempStorage = storage;
  BlockRadixSort() : storage_(private_storage()) {}
  explicit BlockRadixSort(TempStorage& storage) : storage_(storage) {}

  void Sort(Key (&keys)[Items], int begin_bit = 0, int end_bit = kKeyBits, CPU_DEVICE_HERE) {
    sort<false, false>(keys, static_cast<Value*>(nullptr), begin_bit, end_bit, file, line);
  }
  void SortDescending(Key (&keys)[Items], int begin_bit = 0, int end_bit = kKeyBits,
                      CPU_DEVICE_HERE) {
    sort<true, false>(keys, static_cast<Value*>(nullptr), begin_bit, end_bit, file, line);
  }
  void SortBlockedToStriped(Key (&keys)[Items], int begin_bit = 0, int end_bit = kKeyBits,
                            CPU_DEVICE_HERE) {
    sort<false, true>(keys, static_cast<Value*>(nullptr), begin_bit, end_bit, file, line);
  }
  void SortDescendingBlockedToStriped(Key (&keys)[Items], int begin_bit = 0, int end_bit = kKeyBits,
                                      CPU_DEVICE_HERE) {
    sort<true, true>(keys, static_cast<Value*>(nullptr), begin_bit, end_bit, file, line);
  }
  void Sort(Key (&keys)[Items], Value (&values)[Items], int begin_bit = 0, int end_bit = kKeyBits,
            CPU_DEVICE_HERE) {
    sort<false, false>(keys, values, begin_bit, end_bit, file, line);
  }
  void SortDescending(Key (&keys)[Items], Value (&values)[Items], int begin_bit = 0,
                      int end_bit = kKeyBits, CPU_DEVICE_HERE) {
    sort<true, false>(keys, values, begin_bit, end_bit, file, line);
  }
  void SortBlockedToStriped(Key (&keys)[Items], Value (&values)[Items], int begin_bit = 0,
                            int end_bit = kKeyBits, CPU_DEVICE_HERE) {
    sort<false, true>(keys, values, begin_bit, end_bit, file, line);
  }
  void SortDescendingBlockedToStriped(Key (&keys)[Items], Value (&values)[Items], int begin_bit = 0,
                                      int end_bit = kKeyBits, CPU_DEVICE_HERE) {
    sort<true, true>(keys, values, begin_bit, end_bit, file, line);
  }

 private:
  static constexpr int kKeyBits = static_cast<int>(8 * sizeof(Key));
  static TempStorage& private_storage() {
    static thread_local TempStorage storage;
    return storage;
  }

  template <bool Descending, bool Striped>
  void sort(Key (&keys)[Items], [[maybe_unused]] Value* values, int begin_bit, int end_bit,
            const char* file, int line) {
    const int thread = detail::thread_of_block<X, Y, Z>(file, line);
    storage_.guard.come(thread);
    for (int i = 0; i < Items; ++i) {
      storage_.key[0][thread * Items + i] = keys[i];
      if constexpr (kHasValues)
        if (values != nullptr) storage_.value[0][thread * Items + i] = values[i];
    }
    __syncthreads(file, line);
    const int passes = detail::radix_passes(begin_bit, end_bit);
    if (thread == 0) {
      const auto sort_with = [&](auto* in, auto* odd, auto* even) {
        detail::radix_sort<Descending>(storage_.key[0].data(), storage_.key[passes % 2].data(),
                                       storage_.key[1 - passes % 2].data(), in, odd, even, kItems,
                                       begin_bit, end_bit);
      };
      NullType* const none = nullptr;
      if (values == nullptr)
        sort_with(none, none, none);
      else
        sort_with(storage_.value[0].data(), storage_.value[passes % 2].data(),
                  storage_.value[1 - passes % 2].data());
    }
    __syncthreads(file, line);
    for (int i = 0; i < Items; ++i) {
      const int from = Striped ? i * kThreads + thread : thread * Items + i;
      keys[i] = storage_.key[passes % 2][from];
      if constexpr (kHasValues)
        if (values != nullptr) values[i] = storage_.value[passes % 2][from];
    }
    storage_.guard.go(thread);
  }

  TempStorage& storage_;
};

}  // namespace cub
