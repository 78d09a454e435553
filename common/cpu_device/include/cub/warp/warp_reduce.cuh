// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cub/detail/warp.cuh>
#include <cub/thread/thread_operators.cuh>

namespace cub {

/// Reductions over the lanes of a warp, or of each `Lanes` neighbours in it. The result is lane
/// 0's; the other lanes get their own input back.
template <class T, int Lanes = 32>
class WarpReduce {
 public:
  using TempStorage = detail::warp_storage<T, Lanes>;
  explicit WarpReduce(TempStorage& storage) : storage_(storage) {}

  template <class Op>
  T Reduce(T input, Op op, CPU_DEVICE_HERE) {
    return reduce(input, op, warp_.there, file, line);
  }
  template <class Op>
  T Reduce(T input, Op op, int valid_items, CPU_DEVICE_HERE) {
    return reduce(input, op, valid_items < warp_.there ? valid_items : warp_.there, file, line);
  }
  T Sum(T input, CPU_DEVICE_HERE) { return reduce(input, cub::Sum(), warp_.there, file, line); }
  T Sum(T input, int valid_items, CPU_DEVICE_HERE) {
    return Reduce(input, cub::Sum(), valid_items, file, line);
  }
  T Max(T input, CPU_DEVICE_HERE) { return reduce(input, cub::Max(), warp_.there, file, line); }
  T Min(T input, CPU_DEVICE_HERE) { return reduce(input, cub::Min(), warp_.there, file, line); }

  /// Each lane with a head flag gets the result of the lanes from it to the next head.
  template <class Op, class Flag>
  T HeadSegmentedReduce(T input, Flag head, Op op, CPU_DEVICE_HERE) {
    const unsigned heads = flags_of(head != 0, file, line);
    int end = warp_.lane + 1;
    while (end < warp_.there && (heads >> end & 1U) == 0) ++end;
    return segment(input, op, end, file, line);
  }
  /// Segments that end with a tail flag; the result is their first lane's.
  template <class Op, class Flag>
  T TailSegmentedReduce(T input, Flag tail, Op op, CPU_DEVICE_HERE) {
    const unsigned tails = flags_of(tail != 0, file, line);
    int end = warp_.lane + 1;
    while (end < warp_.there && (tails >> (end - 1) & 1U) == 0) ++end;
    return segment(input, op, end, file, line);
  }
  template <class Flag>
  T HeadSegmentedSum(T input, Flag head, CPU_DEVICE_HERE) {
    return HeadSegmentedReduce(input, head, cub::Sum(), file, line);
  }
  template <class Flag>
  T TailSegmentedSum(T input, Flag tail, CPU_DEVICE_HERE) {
    return TailSegmentedReduce(input, tail, cub::Sum(), file, line);
  }

 private:
  unsigned flags_of(bool flag, const char* file, int line) {
    const unsigned lanes = __ballot_sync(warp_.mask, flag, file, line);
    return lanes >> __builtin_ctz(warp_.mask);
  }
  void put(const T& input, const char* file, int line) {
    storage_.guard.come(warp_.lane);
    storage_.value[warp_.lane] = input;
    __syncwarp(warp_.mask, file, line);
  }
  template <class Op>
  T fold(int begin, int end, Op op) {
    T total = storage_.value[begin];
    for (int lane = begin + 1; lane < end; ++lane) total = op(total, storage_.value[lane]);
    storage_.guard.go(warp_.lane);
    return total;
  }
  template <class Op>
  T reduce(const T& input, Op op, int valid, const char* file, int line) {
    put(input, file, line);
    if (warp_.lane == 0) return fold(0, valid, op);
    storage_.guard.go(warp_.lane);
    return input;
  }
  template <class Op>
  T segment(const T& input, Op op, int end, const char* file, int line) {
    put(input, file, line);
    return fold(warp_.lane, end, op);
  }

  TempStorage& storage_;
  detail::logical_warp<Lanes> warp_;
};

}  // namespace cub
