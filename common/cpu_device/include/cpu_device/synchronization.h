// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Barriers, warp functions and fences, as kernels call them. Each one carries the line it stands
// on, so that a report can name it.
#pragma once

#include <cstdint>
#include <cstring>

#include "cpu_device/execution.h"
#include "cpu_device/qualifiers.h"
#include "cpu_device/vector_types.h"

namespace cpu_device {

/// What the threads of a block compute together while they pass a barrier.
enum class vote { none, count, all, any };

/// Waits until every thread of the block waits here.
void block_barrier(const char* file, int line);
/// Waits until every thread of every block of a cooperative launch waits in a grid barrier.
void grid_barrier(const char* file, int line);
bool launched_cooperatively();
int block_vote(vote kind, int predicate, const char* file, int line);

/// What one warp function sees once every lane named in the mask has arrived.
struct warp_exchange {
  std::uint64_t value[32];   ///< what each lane brought
  unsigned mask;             ///< the lanes that take part
  unsigned count, expected;  ///< how many have arrived, and how many will
  unsigned left;             ///< how many have taken what they came for
};

/// Brings the lane's value to the exchange of its mask, and waits until every lane of `mask` has
/// called with the same mask. The exchange is valid until leave_warp(). `what` is the function's
/// name, for reports.
warp_exchange& meet_warp(unsigned mask, std::uint64_t value, const char* what, const char* file,
                         int line);
/// Keeps an exchange that all lanes have left for the next warp function.
void recycle(warp_exchange& exchange);
/// Whether tensor cores multiply: set_lanes_get() may have them leave that.
bool products_are_made();
inline void leave_warp(warp_exchange& exchange) {
  if (++exchange.left == exchange.expected) recycle(exchange);
}
inline unsigned lane_id() { return progress.position->linear % 32; }
/// The lanes that are at this very call together, once no lane of the warp can run on.
unsigned active_mask(const char* file, int line);

/// Lets other threads run: what a spinning thread does. `what` it waits for, for reports.
inline constexpr char kSpinLoop[] = "a spin loop";
void yield(const char* file, int line, const char* what = kSpinLoop);

template <class T>
std::uint64_t to_bits(T value) {
  static_assert(sizeof(T) <= 8, "warp functions move values of at most 8 bytes");
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T>
T from_bits(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// Reads the lane that `source(lane, first, last)` names; first..last is the lane's segment of
/// `width` lanes. A lane that has left gives the caller's own value, and one that is not in the
/// mask, whose value CUDA leaves undefined, ones in all bits: a NaN, or -1.
template <class T, class Source>
CPU_DEVICE_UNWATCHED T shuffle(unsigned mask, T value, int width, const char* what,
                               const char* file, int line, Source source) {
  warp_exchange& exchange = meet_warp(mask, to_bits(value), what, file, line);
  const int lane = static_cast<int>(lane_id());
  const int first = lane & ~(width - 1);
  const int from = source(lane, first, first + width - 1);
  const int lane_read = from & 31;
  const T result = (exchange.mask >> lane_read & 1U) != 0 ? from_bits<T>(exchange.value[lane_read])
                   : (mask >> lane_read & 1U) != 0        ? value
                                                          : from_bits<T>(~std::uint64_t{0});
  leave_warp(exchange);
  return result;
}

}  // namespace cpu_device

inline void __syncthreads(CPU_DEVICE_HERE) { cpu_device::block_barrier(file, line); }
inline int __syncthreads_count(int predicate, CPU_DEVICE_HERE) {
  return cpu_device::block_vote(cpu_device::vote::count, predicate, file, line);
}
inline int __syncthreads_and(int predicate, CPU_DEVICE_HERE) {
  return cpu_device::block_vote(cpu_device::vote::all, predicate, file, line);
}
inline int __syncthreads_or(int predicate, CPU_DEVICE_HERE) {
  return cpu_device::block_vote(cpu_device::vote::any, predicate, file, line);
}

inline void __syncwarp(unsigned mask = 0xffffffffU, CPU_DEVICE_HERE) {
  cpu_device::leave_warp(cpu_device::meet_warp(mask, 0, "__syncwarp", file, line));
}
inline unsigned __activemask(CPU_DEVICE_HERE) { return cpu_device::active_mask(file, line); }

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, CPU_DEVICE_HERE) {
  return cpu_device::shuffle(mask, value, width, "__shfl_sync", file, line,
                             [=](int, int first, int) { return first + (source & (width - 1)); });
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, CPU_DEVICE_HERE) {
  return cpu_device::shuffle(mask, value, width, "__shfl_up_sync", file, line,
                             [=](int lane, int first, int) {
                               const int from = lane - static_cast<int>(delta);
                               return from < first ? lane : from;
                             });
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, CPU_DEVICE_HERE) {
  return cpu_device::shuffle(mask, value, width, "__shfl_down_sync", file, line,
                             [=](int lane, int, int last) {
                               const int from = lane + static_cast<int>(delta);
                               return from > last ? lane : from;
                             });
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, CPU_DEVICE_HERE) {
  return cpu_device::shuffle(mask, value, width, "__shfl_xor_sync", file, line,
                             [=](int lane, int, int last) {
                               const int from = lane ^ lane_mask;
                               return from > last ? lane : from;
                             });
}

namespace cpu_device {
/// The lanes of the mask whose value fits `wanted`.
template <class Wanted>
CPU_DEVICE_UNWATCHED unsigned ballot(unsigned mask, std::uint64_t value, const char* what,
                                     const char* file, int line, Wanted wanted) {
  warp_exchange& exchange = meet_warp(mask, value, what, file, line);
  unsigned lanes = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    if ((exchange.mask >> lane & 1U) != 0 && wanted(exchange.value[lane])) lanes |= 1U << lane;
  leave_warp(exchange);
  return lanes;
}
/// Combines the values of the mask's lanes.
template <class T, class Combine>
CPU_DEVICE_UNWATCHED T warp_reduce(unsigned mask, T value, const char* what, const char* file,
                                   int line, Combine combine) {
  warp_exchange& exchange = meet_warp(mask, to_bits(value), what, file, line);
  bool first = true;
  T total{};
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((exchange.mask >> lane & 1U) == 0) continue;
    const T mine = from_bits<T>(exchange.value[lane]);
    total = first ? mine : combine(total, mine);
    first = false;
  }
  leave_warp(exchange);
  return total;
}
}  // namespace cpu_device

inline unsigned __ballot_sync(unsigned mask, int predicate, CPU_DEVICE_HERE) {
  return cpu_device::ballot(mask, predicate != 0, "__ballot_sync", file, line,
                            [](std::uint64_t v) { return v != 0; });
}
inline int __any_sync(unsigned mask, int predicate, CPU_DEVICE_HERE) {
  return cpu_device::ballot(mask, predicate != 0, "__any_sync", file, line,
                            [](std::uint64_t v) { return v != 0; }) != 0;
}
inline int __all_sync(unsigned mask, int predicate, CPU_DEVICE_HERE) {
  return cpu_device::ballot(mask, predicate != 0, "__all_sync", file, line,
                            [](std::uint64_t v) { return v == 0; }) == 0;
}
template <class T>
unsigned __match_any_sync(unsigned mask, T value, CPU_DEVICE_HERE) {
  const std::uint64_t mine = cpu_device::to_bits(value);
  return cpu_device::ballot(mask, mine, "__match_any_sync", file, line,
                            [=](std::uint64_t v) { return v == mine; });
}
template <class T>
unsigned __match_all_sync(unsigned mask, T value, int* all_equal, CPU_DEVICE_HERE) {
  const std::uint64_t mine = cpu_device::to_bits(value);
  const unsigned same = cpu_device::ballot(mask, mine, "__match_all_sync", file, line,
                                           [=](std::uint64_t v) { return v == mine; });
  *all_equal = same == mask;
  return same == mask ? mask : 0;
}

#define CPU_DEVICE_WARP_REDUCE(T, NAME, EXPRESSION)                      \
  inline T NAME(unsigned mask, T value, CPU_DEVICE_HERE) {               \
    return cpu_device::warp_reduce(mask, value, #NAME, file, line,       \
                                   [](T a, T b) { return EXPRESSION; }); \
  }
CPU_DEVICE_WARP_REDUCE(unsigned, __reduce_add_sync, a + b)
CPU_DEVICE_WARP_REDUCE(unsigned, __reduce_min_sync, a < b ? a : b)
CPU_DEVICE_WARP_REDUCE(unsigned, __reduce_max_sync, a > b ? a : b)
CPU_DEVICE_WARP_REDUCE(unsigned, __reduce_and_sync, a& b)
CPU_DEVICE_WARP_REDUCE(unsigned, __reduce_or_sync, a | b)
CPU_DEVICE_WARP_REDUCE(unsigned, __reduce_xor_sync, a ^ b)
CPU_DEVICE_WARP_REDUCE(int, __reduce_add_sync,
                       static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b)))
CPU_DEVICE_WARP_REDUCE(int, __reduce_min_sync, a < b ? a : b)
CPU_DEVICE_WARP_REDUCE(int, __reduce_max_sync, a > b ? a : b)
#undef CPU_DEVICE_WARP_REDUCE

inline void __nanosleep(unsigned, CPU_DEVICE_HERE) { cpu_device::yield(file, line); }
