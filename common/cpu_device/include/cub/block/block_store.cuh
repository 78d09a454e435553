// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cub/block/block_exchange.cuh>

namespace cub {

enum BlockStoreAlgorithm {
  BLOCK_STORE_DIRECT,
  BLOCK_STORE_STRIPED,
  BLOCK_STORE_VECTORIZE,
  BLOCK_STORE_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED,
};

// Items of a tile that one thread stores: only the first `valid` of the tile.
template <class T, int Items, class Out>
void StoreDirectBlocked(int thread, Out out, T (&items)[Items], int valid) {
  for (int i = 0; i < Items; ++i)
    if (thread * Items + i < valid) out[thread * Items + i] = items[i];
}
template <class T, int Items, class Out>
void StoreDirectBlocked(int thread, Out out, T (&items)[Items]) {
  for (int i = 0; i < Items; ++i) out[thread * Items + i] = items[i];
}
template <class T, int Items>
void StoreDirectBlockedVectorized(int thread, T* out, T (&items)[Items]) {
  StoreDirectBlocked(thread, out, items);
}
template <int Threads, class T, int Items, class Out>
void StoreDirectStriped(int thread, Out out, T (&items)[Items], int valid) {
  for (int i = 0; i < Items; ++i)
    if (i * Threads + thread < valid) out[i * Threads + thread] = items[i];
}
template <int Threads, class T, int Items, class Out>
void StoreDirectStriped(int thread, Out out, T (&items)[Items]) {
  for (int i = 0; i < Items; ++i) out[i * Threads + thread] = items[i];
}

/// Stores the threads' items as a tile: from blocked order, or striped with BLOCK_STORE_STRIPED.
/// The TRANSPOSE ones exchange first, in the TempStorage, with a barrier, and store striped.
template <class T, int X, int Items, BlockStoreAlgorithm Algorithm = BLOCK_STORE_DIRECT, int Y = 1,
          int Z = 1>
class BlockStore {
  static constexpr int kThreads = X * Y * Z;
  static constexpr bool kExchanges = Algorithm >= BLOCK_STORE_TRANSPOSE;
  using exchange = BlockExchange<T, X, Items, false, Y, Z>;
  struct nothing {};

 public:
  using TempStorage = std::conditional_t<kExchanges, typename exchange::TempStorage, nothing>;
  BlockStore() : storage_(private_storage()) {}
  explicit BlockStore(TempStorage& storage) : storage_(storage) {}

  template <class Out>
  void Store(Out out, T (&items)[Items], CPU_DEVICE_HERE) {
    store(out, items, kThreads * Items, file, line);
  }
  template <class Out>
  void Store(Out out, T (&items)[Items], int valid, CPU_DEVICE_HERE) {
    store(out, items, valid, file, line);
  }

 private:
  static TempStorage& private_storage() {
    static thread_local TempStorage storage;
    return storage;
  }
  template <class Out>
  void store(Out out, T (&items)[Items], int valid, const char* file, int line) {
    const int thread = detail::thread_of_block<X, Y, Z>(file, line);
    if constexpr (kExchanges) {
      exchange(storage_).BlockedToStriped(items, items, file, line);
      StoreDirectStriped<kThreads>(thread, out, items, valid);
    } else if constexpr (Algorithm == BLOCK_STORE_STRIPED) {
      StoreDirectStriped<kThreads>(thread, out, items, valid);
    } else {
      StoreDirectBlocked(thread, out, items, valid);
    }
  }

  TempStorage& storage_;
};

}  // namespace cub
