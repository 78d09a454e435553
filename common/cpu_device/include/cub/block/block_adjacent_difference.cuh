// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cub/detail/storage.cuh>

namespace cub {

/// Applies an operator to each item of a block, in blocked order, and its neighbour: first the
/// item, then the one to its left or right. An item that has no such neighbour is copied, unless
/// the neighbour in the tile beside is given. Of a partial tile, only the first `valid` items
/// count, and the others are copied. Input and output may be the same.
template <class T, int X, int Y = 1, int Z = 1>
class BlockAdjacentDifference {
  static constexpr int kThreads = X * Y * Z;
  struct storage {
    detail::slots<T, kThreads> edge;  // each thread's item that another one's neighbour is
    detail::reuse_guard<kThreads> guard;
  };

 public:
  using TempStorage = storage;
  BlockAdjacentDifference() : storage_(private_storage()) {}
  explicit BlockAdjacentDifference(TempStorage& storage) : storage_(storage) {}

  template <int Items, class Out, class Op>
  void SubtractLeft(T (&in)[Items], Out (&out)[Items], Op op, CPU_DEVICE_HERE) {
    left(in, out, op, kThreads * Items, nullptr, file, line);
  }
  template <int Items, class Out, class Op>
  void SubtractLeft(T (&in)[Items], Out (&out)[Items], Op op, T predecessor, CPU_DEVICE_HERE) {
    left(in, out, op, kThreads * Items, &predecessor, file, line);
  }
  template <int Items, class Out, class Op>
  void SubtractLeftPartialTile(T (&in)[Items], Out (&out)[Items], Op op, int valid,
                               CPU_DEVICE_HERE) {
    left(in, out, op, valid, nullptr, file, line);
  }
  template <int Items, class Out, class Op>
  void SubtractLeftPartialTile(T (&in)[Items], Out (&out)[Items], Op op, int valid, T predecessor,
                               CPU_DEVICE_HERE) {
    left(in, out, op, valid, &predecessor, file, line);
  }
  template <int Items, class Out, class Op>
  void SubtractRight(T (&in)[Items], Out (&out)[Items], Op op, CPU_DEVICE_HERE) {
    right(in, out, op, kThreads * Items, nullptr, file, line);
  }
  template <int Items, class Out, class Op>
  void SubtractRight(T (&in)[Items], Out (&out)[Items], Op op, T successor, CPU_DEVICE_HERE) {
    right(in, out, op, kThreads * Items, &successor, file, line);
  }
  template <int Items, class Out, class Op>
  void SubtractRightPartialTile(T (&in)[Items], Out (&out)[Items], Op op, int valid,
                                CPU_DEVICE_HERE) {
    right(in, out, op, valid, nullptr, file, line);
  }

 private:
  template <int Items, class Out, class Op>
  void left(T (&in)[Items], Out (&out)[Items], Op op, int valid, const T* predecessor,
            const char* file, int line) {
    const int thread = share(in[Items - 1], file, line), first = thread * Items;
    const T* before = thread == 0 ? predecessor : &storage_.edge[thread - 1];
    for (int i = Items - 1; i >= 0; --i) {  // from the right: `out` may be `in`
      const T* neighbour = i == 0 ? before : &in[i - 1];
      out[i] = first + i < valid && neighbour != nullptr ? static_cast<Out>(op(in[i], *neighbour))
                                                         : static_cast<Out>(in[i]);
    }
    storage_.guard.go(thread);
  }
  template <int Items, class Out, class Op>
  void right(T (&in)[Items], Out (&out)[Items], Op op, int valid, const T* successor,
             const char* file, int line) {
    const int thread = share(in[0], file, line), first = thread * Items;
    const T* after = thread == kThreads - 1 ? successor : &storage_.edge[thread + 1];
    const int with_neighbour = successor != nullptr ? valid : valid - 1;
    for (int i = 0; i < Items; ++i) {
      const T* neighbour = i == Items - 1 ? after : &in[i + 1];
      out[i] = first + i < with_neighbour ? static_cast<Out>(op(in[i], *neighbour))
                                          : static_cast<Out>(in[i]);
    }
    storage_.guard.go(thread);
  }
  int share(const T& edge, const char* file, int line) {
    const int thread = detail::thread_of_block<X, Y, Z>(file, line);
    storage_.guard.come(thread);
    storage_.edge[thread] = edge;
    __syncthreads(file, line);
    return thread;
  }
  static TempStorage& private_storage() {
    static thread_local TempStorage storage;
    return storage;
  }
  TempStorage& storage_;
};

}  // namespace cub
