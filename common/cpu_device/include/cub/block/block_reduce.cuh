// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cub/detail/storage.cuh>
#include <cub/thread/thread_operators.cuh>

namespace cub {

/// Which way a GPU goes; here all are one.
enum BlockReduceAlgorithm {
  BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
  BLOCK_REDUCE_RAKING,
  BLOCK_REDUCE_WARP_REDUCTIONS,
  BLOCK_REDUCE_WARP_REDUCTIONS_NONDETERMINISTIC,
};

/// Reductions over the threads of a block. The result is thread 0's; the other threads get what
/// they brought, which is no result.
template <class T, int X, BlockReduceAlgorithm Algorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1,
          int Z = 1>
class BlockReduce {
  static constexpr int kThreads = X * Y * Z;
  struct storage {
    detail::slots<T, kThreads> value;
    detail::reuse_guard<kThreads> guard;
  };

 public:
  using TempStorage = storage;
  BlockReduce() : storage_(private_storage()) {}
  explicit BlockReduce(TempStorage& storage) : storage_(storage) {}

  template <class Op>
  T Reduce(T input, Op op, CPU_DEVICE_HERE) {
    return reduce(input, op, kThreads, file, line);
  }
  /// Of the first `valid` threads' inputs.
  template <class Op>
  T Reduce(T input, Op op, int valid, CPU_DEVICE_HERE) {
    return reduce(input, op, valid, file, line);
  }
  template <int Items, class Op>
  T Reduce(T (&inputs)[Items], Op op, CPU_DEVICE_HERE) {
    T total = inputs[0];
    for (int i = 1; i < Items; ++i) total = op(total, inputs[i]);
    return reduce(total, op, kThreads, file, line);
  }
  T Sum(T input, CPU_DEVICE_HERE) { return reduce(input, cub::Sum(), kThreads, file, line); }
  T Sum(T input, int valid, CPU_DEVICE_HERE) {
    return reduce(input, cub::Sum(), valid, file, line);
  }
  template <int Items>
  T Sum(T (&inputs)[Items], CPU_DEVICE_HERE) {
    return Reduce(inputs, cub::Sum(), file, line);
  }

 private:
  static TempStorage& private_storage() {
    static thread_local TempStorage storage;
    return storage;
  }
  template <class Op>
  T reduce(const T& input, Op op, int valid, const char* file, int line) {
    const int thread = detail::thread_of_block<X, Y, Z>(file, line);
    storage_.guard.come(thread);
    storage_.value[thread] = input;
    __syncthreads(file, line);
    T total = input;
    if (thread == 0)
      for (int t = 1; t < valid && t < kThreads; ++t)
        total = static_cast<T>(op(total, storage_.value[t]));
    storage_.guard.go(thread);
    return total;
  }

  TempStorage& storage_;
};

}  // namespace cub
