// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cub/detail/warp.cuh>
#include <cub/thread/thread_operators.cuh>

namespace cub {

/// Prefix sums over the lanes of a warp, or of each `Lanes` neighbours in it. Without an initial
/// value, lane 0's exclusive result is its own input (CUB leaves it undefined; for sums it is 0).
template <class T, int Lanes = 32>
class WarpScan {
 public:
  using TempStorage = detail::warp_storage<T, Lanes>;
  explicit WarpScan(TempStorage& storage) : storage_(storage) {}

  void InclusiveSum(T input, T& output, CPU_DEVICE_HERE) {
    InclusiveScan(input, output, cub::Sum(), file, line);
  }
  void InclusiveSum(T input, T& output, T& aggregate, CPU_DEVICE_HERE) {
    InclusiveScan(input, output, cub::Sum(), aggregate, file, line);
  }
  void ExclusiveSum(T input, T& output, CPU_DEVICE_HERE) {
    ExclusiveScan(input, output, T{}, cub::Sum(), file, line);
  }
  void ExclusiveSum(T input, T& output, T& aggregate, CPU_DEVICE_HERE) {
    ExclusiveScan(input, output, T{}, cub::Sum(), aggregate, file, line);
  }
  template <class Op>
  void InclusiveScan(T input, T& output, Op op, CPU_DEVICE_HERE) {
    put(input, file, line);
    output = fold(warp_.lane + 1, op);
    storage_.guard.go(warp_.lane);
  }
  template <class Op>
  void InclusiveScan(T input, T& output, Op op, T& aggregate, CPU_DEVICE_HERE) {
    put(input, file, line);
    output = fold(warp_.lane + 1, op);
    aggregate = fold(warp_.there, op);
    storage_.guard.go(warp_.lane);
  }
  template <class Op>
  void ExclusiveScan(T input, T& output, Op op, CPU_DEVICE_HERE) {
    put(input, file, line);
    output = warp_.lane == 0 ? input : fold(warp_.lane, op);
    storage_.guard.go(warp_.lane);
  }
  template <class Op>
  void ExclusiveScan(T input, T& output, T initial, Op op, CPU_DEVICE_HERE) {
    put(input, file, line);
    output = warp_.lane == 0 ? initial : op(initial, fold(warp_.lane, op));
    storage_.guard.go(warp_.lane);
  }
  /// The aggregate does not hold the initial value.
  template <class Op>
  void ExclusiveScan(T input, T& output, T initial, Op op, T& aggregate, CPU_DEVICE_HERE) {
    put(input, file, line);
    output = warp_.lane == 0 ? initial : op(initial, fold(warp_.lane, op));
    aggregate = fold(warp_.there, op);
    storage_.guard.go(warp_.lane);
  }
  template <class Op>
  void Scan(T input, T& inclusive, T& exclusive, Op op, CPU_DEVICE_HERE) {
    put(input, file, line);
    inclusive = fold(warp_.lane + 1, op);
    exclusive = warp_.lane == 0 ? input : fold(warp_.lane, op);
    storage_.guard.go(warp_.lane);
  }
  template <class Op>
  void Scan(T input, T& inclusive, T& exclusive, T initial, Op op, CPU_DEVICE_HERE) {
    put(input, file, line);
    inclusive = op(initial, fold(warp_.lane + 1, op));
    exclusive = warp_.lane == 0 ? initial : op(initial, fold(warp_.lane, op));
    storage_.guard.go(warp_.lane);
  }
  T Broadcast(T input, unsigned source, CPU_DEVICE_HERE) {
    put(input, file, line);
    const T result = storage_.value[static_cast<int>(source)];
    storage_.guard.go(warp_.lane);
    return result;
  }

 private:
  void put(const T& input, const char* file, int line) {
    storage_.guard.come(warp_.lane);
    storage_.value[warp_.lane] = input;
    __syncwarp(warp_.mask, file, line);
  }
  template <class Op>
  T fold(int end, Op op) {
    T total = storage_.value[0];
    for (int lane = 1; lane < end; ++lane) total = op(total, storage_.value[lane]);
    return total;
  }

  TempStorage& storage_;
  detail::logical_warp<Lanes> warp_;
};

}  // namespace cub
