// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Barriers of a part of a block: the numbered ones that PTX has (`bar.sync 1, 64`), and those of
// cooperative groups' tiles of several warps. Each is a word that counts the missing arrivals, like
// that of cuda::barrier (bulk_copies.h), and is in shared memory.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <type_traits>

#include "cpu_device/bulk_copies.h"
#include "cpu_device/execution.h"
#include "cpu_device/synchronization.h"

namespace cpu_device {

constexpr unsigned kMostThreads = 1024;     // of a block
constexpr unsigned kNumberedBarriers = 16;  // that a block has

/// The calling thread, as `weight` of them, has arrived at the barrier of `threads` threads.
/// Returns the phase that it belongs to. The first one of a phase says how many threads it is for.
/// `what`: the barrier, for reports.
inline unsigned arrive_at_part(std::uint64_t* word, unsigned threads, unsigned weight,
                               const char* what, const char* file, int line) {
  std::uint64_t state = phases::now(word);
  while (state == phases::kNobodys || phases::expected(state) != threads) {
    if (state != phases::kNobodys && phases::pending(state) != phases::expected(state)) {
      char text[160];
      std::snprintf(text, sizeof text,
                    "%s: a thread that waits says that it is for %u threads, and this one for %u.",
                    what, static_cast<unsigned>(phases::expected(state)), threads);
      refuse(text, file, line);
    }
    const unsigned phase = state == phases::kNobodys ? 0 : phases::phase(state);
    if (__atomic_compare_exchange_n(word, &state, phases::in_phase(phase, threads), false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      break;
  }
  return phases::phase(phases::arrive(
      word, weight, [] {}, file, line));
}

/// Waits until all have come that this phase of the barrier is for.
inline void wait_for_part(const std::uint64_t* word, unsigned phase, const char* what,
                          const char* file, int line) {
  while (phases::phase(phases::now(word)) == phase) yield(file, line, what);
}

// --- numbered barriers, which count whole warps --------------------------------------------------

inline unsigned threads_in_warps() { return (progress.count + 31) / 32 * 32; }

/// The calling thread comes to the block's barrier with this number, and waits there if it is asked
/// to. The first thread of a warp that is not whole counts for those that it lacks, too.
inline void numbered_barrier(unsigned number, unsigned threads, bool waits, const char* what,
                             const char* file, int line) {
  if (number >= kNumberedBarriers)
    refuse("a block has the barriers 0 to 15, and this is another one.", file, line);
  if (threads == 0 || threads % 32 != 0 || threads > threads_in_warps())
    refuse("a barrier is for whole warps: 32 threads, 64, and so on, at most all of the block.",
           file, line);
  static thread_local constinit std::uint64_t words[kNumberedBarriers] = {};
  shared_birth([] { return "(barriers of the block)"; }, words);
  const unsigned mine = progress.position->linear, past = progress.count % 32;
  const unsigned weight = past != 0 && mine == progress.count - past ? 33 - past : 1;
  const unsigned phase = arrive_at_part(&words[number], threads, weight, what, file, line);
  if (waits) wait_for_part(&words[number], phase, what, file, line);
}

// --- tiles of several warps ----------------------------------------------------------------------

/// Threads of the caller's tile: the last one of a block may have fewer than Size.
template <unsigned Size>
unsigned tile_threads() {
  const unsigned there = progress.count - progress.position->linear / Size * Size;
  return there < Size ? there : Size;
}

template <unsigned Size>
void tile_barrier(const char* what, const char* file, int line) {
  static thread_local constinit std::uint64_t words[kMostThreads / Size] = {};
  shared_birth([] { return "(barriers of tiles)"; }, words);
  std::uint64_t* const word = &words[progress.position->linear / Size];
  wait_for_part(word, arrive_at_part(word, tile_threads<Size>(), 1, what, file, line), what, file,
                line);
}

/// Every thread of the tile brings a value, and gets what `read` makes of all of them: of the
/// address of the first, in the order of their ranks, and how many there are.
template <unsigned Size, class T, class Read>
CPU_DEVICE_UNWATCHED auto exchange_in_tile(const T& mine, Read read, const char* what,
                                           const char* file, int line) {
  static_assert(std::is_trivially_copyable_v<T>, "groups exchange the bytes of a value");
  alignas(T) static thread_local constinit unsigned char bytes[kMostThreads * sizeof(T)] = {};
  const unsigned linear = progress.position->linear;
  std::memcpy(bytes + linear * sizeof(T), &mine, sizeof(T));
  tile_barrier<Size>(what, file, line);
  const auto result =
      read(reinterpret_cast<const T*>(bytes) + linear / Size * Size, tile_threads<Size>());
  tile_barrier<Size>(what, file, line);
  return result;
}

}  // namespace cpu_device
