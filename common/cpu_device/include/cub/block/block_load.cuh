// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cub/block/block_exchange.cuh>

namespace cub {

enum BlockLoadAlgorithm {
  BLOCK_LOAD_DIRECT,
  BLOCK_LOAD_STRIPED,
  BLOCK_LOAD_VECTORIZE,
  BLOCK_LOAD_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED,
};

// Items of a tile that one thread loads: only the first `valid` of the tile, the rest is left as it
// is or becomes `other`.
template <class T, int Items, class In>
void LoadDirectBlocked(int thread, In in, T (&items)[Items]) {
  for (int i = 0; i < Items; ++i) items[i] = in[thread * Items + i];
}
template <class T, int Items, class In>
void LoadDirectBlocked(int thread, In in, T (&items)[Items], int valid) {
  for (int i = 0; i < Items; ++i)
    if (thread * Items + i < valid) items[i] = in[thread * Items + i];
}
template <class T, int Items, class In, class Other>
void LoadDirectBlocked(int thread, In in, T (&items)[Items], int valid, Other other) {
  for (int i = 0; i < Items; ++i) items[i] = other;
  LoadDirectBlocked(thread, in, items, valid);
}
template <class T, int Items>
void LoadDirectBlockedVectorized(int thread, T* in, T (&items)[Items]) {
  LoadDirectBlocked(thread, in, items);
}
template <int Threads, class T, int Items, class In>
void LoadDirectStriped(int thread, In in, T (&items)[Items]) {
  for (int i = 0; i < Items; ++i) items[i] = in[i * Threads + thread];
}
template <int Threads, class T, int Items, class In>
void LoadDirectStriped(int thread, In in, T (&items)[Items], int valid) {
  for (int i = 0; i < Items; ++i)
    if (i * Threads + thread < valid) items[i] = in[i * Threads + thread];
}
template <int Threads, class T, int Items, class In, class Other>
void LoadDirectStriped(int thread, In in, T (&items)[Items], int valid, Other other) {
  for (int i = 0; i < Items; ++i) items[i] = other;
  LoadDirectStriped<Threads>(thread, in, items, valid);
}

/// Loads a tile of a block into its threads' items: blocked, or striped with BLOCK_LOAD_STRIPED.
/// The TRANSPOSE ones load striped and exchange, in the TempStorage, with a barrier.
template <class T, int X, int Items, BlockLoadAlgorithm Algorithm = BLOCK_LOAD_DIRECT, int Y = 1,
          int Z = 1>
class BlockLoad {
  static constexpr int kThreads = X * Y * Z;
  static constexpr bool kExchanges = Algorithm >= BLOCK_LOAD_TRANSPOSE;
  using exchange = BlockExchange<T, X, Items, false, Y, Z>;
  struct nothing {};

 public:
  using TempStorage = std::conditional_t<kExchanges, typename exchange::TempStorage, nothing>;
  BlockLoad() : storage_(private_storage()) {}
  explicit BlockLoad(TempStorage& storage) : storage_(storage) {}

  template <class In>
  void Load(In in, T (&items)[Items], CPU_DEVICE_HERE) {
    load(in, items, kThreads * Items, file, line);
  }
  template <class In>
  void Load(In in, T (&items)[Items], int valid, CPU_DEVICE_HERE) {
    load(in, items, valid, file, line);
  }
  template <class In, class Other>
  requires(!std::is_convertible_v<Other, const char*>) void Load(In in, T (&items)[Items],
                                                                 int valid, Other other,
                                                                 CPU_DEVICE_HERE) {
    for (int i = 0; i < Items; ++i) items[i] = other;
    load(in, items, valid, file, line);
  }

 private:
  static TempStorage& private_storage() {
    static thread_local TempStorage storage;
    return storage;
  }
  template <class In>
  void load(In in, T (&items)[Items], int valid, const char* file, int line) {
    const int thread = detail::thread_of_block<X, Y, Z>(file, line);
    if constexpr (kExchanges) {
      LoadDirectStriped<kThreads>(thread, in, items, valid);
      exchange(storage_).StripedToBlocked(items, items, file, line);
    } else if constexpr (Algorithm == BLOCK_LOAD_STRIPED) {
      LoadDirectStriped<kThreads>(thread, in, items, valid);
    } else {
      LoadDirectBlocked(thread, in, items, valid);
    }
  }

  TempStorage& storage_;
};

}  // namespace cub
