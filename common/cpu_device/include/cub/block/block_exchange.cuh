// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cub/detail/storage.cuh>

namespace cub {

/// Rearranges the items of a block. Blocked: thread t has items t*Items .. t*Items + Items - 1;
/// striped: t, t + threads, ...; warp-striped: striped within each warp's items.
template <class T, int X, int Items, bool WarpTimeSlicing = false, int Y = 1, int Z = 1>
class BlockExchange {
  static constexpr int kThreads = X * Y * Z;
  struct storage {
    detail::slots<T, kThreads * Items> value;
    detail::reuse_guard<kThreads> guard;
  };

 public:
  using TempStorage = storage;
  BlockExchange() : storage_(private_storage()) {}
  explicit BlockExchange(TempStorage& storage) : storage_(storage) {}

  template <class Out>
  void StripedToBlocked(const T (&in)[Items], Out (&out)[Items], CPU_DEVICE_HERE) {
    exchange(in, out, striped, blocked, file, line);
  }
  template <class Out>
  void BlockedToStriped(const T (&in)[Items], Out (&out)[Items], CPU_DEVICE_HERE) {
    exchange(in, out, blocked, striped, file, line);
  }
  template <class Out>
  void WarpStripedToBlocked(const T (&in)[Items], Out (&out)[Items], CPU_DEVICE_HERE) {
    exchange(in, out, warp_striped, blocked, file, line);
  }
  template <class Out>
  void BlockedToWarpStriped(const T (&in)[Items], Out (&out)[Items], CPU_DEVICE_HERE) {
    exchange(in, out, blocked, warp_striped, file, line);
  }
  template <class Out, class Rank>
  void ScatterToBlocked(const T (&in)[Items], Out (&out)[Items], Rank (&ranks)[Items],
                        CPU_DEVICE_HERE) {
    exchange(
        in, out, [&](int, int i) { return static_cast<int>(ranks[i]); }, blocked, file, line);
  }
  template <class Out, class Rank>
  void ScatterToStriped(const T (&in)[Items], Out (&out)[Items], Rank (&ranks)[Items],
                        CPU_DEVICE_HERE) {
    exchange(
        in, out, [&](int, int i) { return static_cast<int>(ranks[i]); }, striped, file, line);
  }
  /// Items of a negative rank go nowhere.
  template <class Out, class Rank>
  void ScatterToStripedGuarded(const T (&in)[Items], Out (&out)[Items], Rank (&ranks)[Items],
                               CPU_DEVICE_HERE) {
    ScatterToStriped(in, out, ranks, file, line);
  }
  template <class Out, class Rank, class Valid>
  void ScatterToStripedFlagged(const T (&in)[Items], Out (&out)[Items], Rank (&ranks)[Items],
                               Valid (&valid)[Items], CPU_DEVICE_HERE) {
    exchange(
        in, out, [&](int, int i) { return valid[i] ? static_cast<int>(ranks[i]) : -1; }, striped,
        file, line);
  }

 private:
  static int blocked(int thread, int i) { return thread * Items + i; }
  static int striped(int thread, int i) { return i * kThreads + thread; }
  static int warp_striped(int thread, int i) {
    const int first = thread / 32 * 32;
    const int lanes = kThreads - first < 32 ? kThreads - first : 32;
    return first * Items + i * lanes + thread - first;
  }
  static TempStorage& private_storage() {
    static thread_local TempStorage storage;
    return storage;
  }
  template <class Out, class To, class From>
  void exchange(const T (&in)[Items], Out (&out)[Items], To to, From from, const char* file,
                int line) {
    const int thread = detail::thread_of_block<X, Y, Z>(file, line);
    storage_.guard.come(thread);
    for (int i = 0; i < Items; ++i)
      if (const int place = to(thread, i); place >= 0) storage_.value[place] = in[i];
    __syncthreads(file, line);
    for (int i = 0; i < Items; ++i) out[i] = storage_.value[from(thread, i)];
    storage_.guard.go(thread);
  }

  TempStorage& storage_;
};

}  // namespace cub
