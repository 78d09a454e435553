// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cub/detail/storage.cuh>

namespace cub {

enum BlockHistogramAlgorithm { BLOCK_HISTO_SORT, BLOCK_HISTO_ATOMIC };

/// Counts the items of a block in `Bins` counters, in shared or global memory. Items are the
/// numbers of their bins. Before the counters are read the block needs a barrier of its own.
template <class T, int X, int Items, int Bins, BlockHistogramAlgorithm Algorithm = BLOCK_HISTO_SORT,
          int Y = 1, int Z = 1>
class BlockHistogram {
  static constexpr int kThreads = X * Y * Z;
  struct storage {
    detail::reuse_guard<kThreads> guard;
  };

 public:
  using TempStorage = storage;
  BlockHistogram() : storage_(private_storage()) {}
  explicit BlockHistogram(TempStorage& storage) : storage_(storage) {}

  template <class Counter>
  void InitHistogram(Counter (&counters)[Bins], CPU_DEVICE_HERE) {
    const int thread = detail::thread_of_block<X, Y, Z>(file, line);
    for (int bin = thread; bin < Bins; bin += kThreads) counters[bin] = 0;
  }
  template <class Counter>
  void Histogram(T (&items)[Items], Counter (&counters)[Bins], CPU_DEVICE_HERE) {
    InitHistogram(counters, file, line);
    __syncthreads(file, line);
    Composite(items, counters, file, line);
  }
  /// Adds to counters that are there already.
  template <class Counter>
  void Composite(T (&items)[Items], Counter (&counters)[Bins], CPU_DEVICE_HERE) {
    const int thread = detail::thread_of_block<X, Y, Z>(file, line);
    storage_.guard.come(thread);
    __syncthreads(file, line);
    for (int i = 0; i < Items; ++i) atomicAdd(&counters[items[i]], Counter{1});
    storage_.guard.go(thread);
  }

 private:
  static TempStorage& private_storage() {
    static thread_local TempStorage storage;
    return storage;
  }
  TempStorage& storage_;
};

}  // namespace cub
