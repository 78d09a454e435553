// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cub/detail/storage.cuh>
#include <cub/thread/thread_operators.cuh>

namespace cub {

/// Which way a GPU goes; here all are one.
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };

/// Prefix sums over the threads of a block, of one or of several items a thread (in blocked order).
///
/// Each function exists for one item and for an array of them, and: plain, with an aggregate (of
/// the block's inputs, without initial value or prefix), and with a prefix functor. The functor is
/// called by the first warp with the aggregate; what it gives lane 0 is put before all items.
/// An exclusive scan without initial value leaves the first item undefined: it keeps its input.
template <class T, int X, BlockScanAlgorithm Algorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1>
class BlockScan {
  static constexpr int kThreads = X * Y * Z;
  struct storage {
    detail::slots<T, kThreads> value;  // first what each thread brought, then the sums up to it
    detail::slots<T, 1> prefix;
    detail::reuse_guard<kThreads> guard;
  };

 public:
  using TempStorage = storage;
  BlockScan() : storage_(private_storage()) {}
  explicit BlockScan(TempStorage& storage) : storage_(storage) {}

  void InclusiveSum(T input, T& output, CPU_DEVICE_HERE) {
    InclusiveScan(input, output, cub::Sum(), file, line);
  }
  void InclusiveSum(T input, T& output, T& aggregate, CPU_DEVICE_HERE) {
    InclusiveScan(input, output, cub::Sum(), aggregate, file, line);
  }
  template <class Prefix>
  void InclusiveSum(T input, T& output, Prefix& prefix, CPU_DEVICE_HERE) {
    InclusiveScan(input, output, cub::Sum(), prefix, file, line);
  }
  template <int Items>
  void InclusiveSum(T (&input)[Items], T (&output)[Items], CPU_DEVICE_HERE) {
    InclusiveScan(input, output, cub::Sum(), file, line);
  }
  template <int Items>
  void InclusiveSum(T (&input)[Items], T (&output)[Items], T& aggregate, CPU_DEVICE_HERE) {
    InclusiveScan(input, output, cub::Sum(), aggregate, file, line);
  }
  template <int Items, class Prefix>
  void InclusiveSum(T (&input)[Items], T (&output)[Items], Prefix& prefix, CPU_DEVICE_HERE) {
    InclusiveScan(input, output, cub::Sum(), prefix, file, line);
  }

  void ExclusiveSum(T input, T& output, CPU_DEVICE_HERE) {
    ExclusiveScan(input, output, T{}, cub::Sum(), file, line);
  }
  void ExclusiveSum(T input, T& output, T& aggregate, CPU_DEVICE_HERE) {
    ExclusiveScan(input, output, T{}, cub::Sum(), aggregate, file, line);
  }
  template <class Prefix>
  void ExclusiveSum(T input, T& output, Prefix& prefix, CPU_DEVICE_HERE) {
    ExclusiveScan(input, output, cub::Sum(), prefix, file, line);
  }
  template <int Items>
  void ExclusiveSum(T (&input)[Items], T (&output)[Items], CPU_DEVICE_HERE) {
    ExclusiveScan(input, output, T{}, cub::Sum(), file, line);
  }
  template <int Items>
  void ExclusiveSum(T (&input)[Items], T (&output)[Items], T& aggregate, CPU_DEVICE_HERE) {
    ExclusiveScan(input, output, T{}, cub::Sum(), aggregate, file, line);
  }
  template <int Items, class Prefix>
  void ExclusiveSum(T (&input)[Items], T (&output)[Items], Prefix& prefix, CPU_DEVICE_HERE) {
    ExclusiveScan(input, output, cub::Sum(), prefix, file, line);
  }

  template <class Op>
  void InclusiveScan(T input, T& output, Op op, CPU_DEVICE_HERE) {
    scan<true, 1>(&input, &output, op, nullptr, nullptr, none(), file, line);
  }
  template <class Op>
  void InclusiveScan(T input, T& output, Op op, T& aggregate, CPU_DEVICE_HERE) {
    scan<true, 1>(&input, &output, op, nullptr, &aggregate, none(), file, line);
  }
  template <class Op, class Prefix>
  void InclusiveScan(T input, T& output, Op op, Prefix& prefix, CPU_DEVICE_HERE) {
    scan<true, 1>(&input, &output, op, nullptr, nullptr, &prefix, file, line);
  }
  template <int Items, class Op>
  void InclusiveScan(T (&input)[Items], T (&output)[Items], Op op, CPU_DEVICE_HERE) {
    scan<true, Items>(input, output, op, nullptr, nullptr, none(), file, line);
  }
  template <int Items, class Op>
  void InclusiveScan(T (&input)[Items], T (&output)[Items], Op op, T& aggregate, CPU_DEVICE_HERE) {
    scan<true, Items>(input, output, op, nullptr, &aggregate, none(), file, line);
  }
  template <int Items, class Op, class Prefix>
  void InclusiveScan(T (&input)[Items], T (&output)[Items], Op op, Prefix& prefix,
                     CPU_DEVICE_HERE) {
    scan<true, Items>(input, output, op, nullptr, nullptr, &prefix, file, line);
  }

  template <class Op>
  void ExclusiveScan(T input, T& output, T initial, Op op, CPU_DEVICE_HERE) {
    scan<false, 1>(&input, &output, op, &initial, nullptr, none(), file, line);
  }
  template <class Op>
  void ExclusiveScan(T input, T& output, T initial, Op op, T& aggregate, CPU_DEVICE_HERE) {
    scan<false, 1>(&input, &output, op, &initial, &aggregate, none(), file, line);
  }
  template <class Op>
  void ExclusiveScan(T input, T& output, Op op, CPU_DEVICE_HERE) {
    scan<false, 1>(&input, &output, op, nullptr, nullptr, none(), file, line);
  }
  template <class Op, class Prefix>
  requires(!std::is_convertible_v<Op, T>) void ExclusiveScan(T input, T& output, Op op,
                                                             Prefix& prefix, CPU_DEVICE_HERE) {
    if constexpr (std::is_same_v<Prefix, T>)
      scan<false, 1>(&input, &output, op, nullptr, &prefix, none(), file, line);  // an aggregate
    else
      scan<false, 1>(&input, &output, op, nullptr, nullptr, &prefix, file, line);
  }
  template <int Items, class Op>
  void ExclusiveScan(T (&input)[Items], T (&output)[Items], T initial, Op op, CPU_DEVICE_HERE) {
    scan<false, Items>(input, output, op, &initial, nullptr, none(), file, line);
  }
  template <int Items, class Op>
  void ExclusiveScan(T (&input)[Items], T (&output)[Items], T initial, Op op, T& aggregate,
                     CPU_DEVICE_HERE) {
    scan<false, Items>(input, output, op, &initial, &aggregate, none(), file, line);
  }
  template <int Items, class Op>
  void ExclusiveScan(T (&input)[Items], T (&output)[Items], Op op, CPU_DEVICE_HERE) {
    scan<false, Items>(input, output, op, nullptr, nullptr, none(), file, line);
  }
  template <int Items, class Op, class Prefix>
  requires(!std::is_convertible_v<Op, T>) void ExclusiveScan(T (&input)[Items], T (&output)[Items],
                                                             Op op, Prefix& prefix,
                                                             CPU_DEVICE_HERE) {
    if constexpr (std::is_same_v<Prefix, T>)
      scan<false, Items>(input, output, op, nullptr, &prefix, none(), file, line);
    else
      scan<false, Items>(input, output, op, nullptr, nullptr, &prefix, file, line);
  }

 private:
  struct no_prefix {
    T operator()(const T& aggregate) const { return aggregate; }
  };
  static no_prefix* none() { return nullptr; }
  static TempStorage& private_storage() {
    static thread_local TempStorage storage;
    return storage;
  }

  template <bool Inclusive, int Items, class Op, class Prefix>
  void scan(const T* input, T* output, Op op, const T* initial, T* aggregate, Prefix* prefix,
            const char* file, int line) {
    const int thread = detail::thread_of_block<X, Y, Z>(file, line);
    T mine = input[0];
    for (int i = 1; i < Items; ++i) mine = static_cast<T>(op(mine, input[i]));
    storage_.guard.come(thread);
    storage_.value[thread] = mine;
    __syncthreads(file, line);
    if (thread == 0)
      for (int t = 1; t < kThreads; ++t)
        storage_.value[t] = static_cast<T>(op(storage_.value[t - 1], storage_.value[t]));
    __syncthreads(file, line);
    if (aggregate != nullptr) *aggregate = storage_.value[kThreads - 1];

    // What stands before the first item: the prefix, the initial value, or nothing.
    const T* first = initial;
    if (prefix != nullptr) {
      if (thread < 32) {
        const T given = (*prefix)(storage_.value[kThreads - 1]);
        if (thread == 0) storage_.prefix[0] = given;
      }
      __syncthreads(file, line);
      first = storage_.prefix.data();
    }
    bool any = first != nullptr;
    T sum = any ? *first : input[0];
    if (thread > 0) {
      sum = any ? static_cast<T>(op(sum, storage_.value[thread - 1])) : storage_.value[thread - 1];
      any = true;
    }
    for (int i = 0; i < Items; ++i) {
      const T item = input[i];  // the output may be the input
      const T next = any ? static_cast<T>(op(sum, item)) : item;
      output[i] = Inclusive ? next : sum;
      sum = next;
      any = true;
    }
    storage_.guard.go(thread);
  }

  TempStorage& storage_;
};

}  // namespace cub
