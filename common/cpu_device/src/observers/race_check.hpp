// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The race check: two accesses to one word that nothing orders. Every 4-byte word that kernels
// touch has a cell with its last write and two of its readers. Accesses are ordered when
//   - one thread made both, or they belong to different launches;
//   - they are of one block, and a block barrier lies between, or of one warp, and a barrier of the
//     warp lies between (shuffles and votes are none);
//   - the earlier one was released and the later one acquired (ordering.hpp).
// Two atomic accesses never race, unless one of them is of block scope and the other is another
// block's.
//
// What each access goes through is in this header, so that publisher.cpp compiles it into one
// piece. Internal to the CPU device; linked only into programs whose kernels are watched.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "observers/ordering.hpp"
#include "observers/watched_code.hpp"

namespace cpu_device::check {

// Bits of a place, beside those of watched_code.hpp.
constexpr std::uint32_t kBlockScope = 1U << 30, kVolatilePlace = 1U << 29;

/// One access: who, when and from where.
struct access {
  std::uint32_t place = 0;  // of the instruction, and how it accesses
  std::uint32_t block = 0;  // serial number of the block; 0: nobody
  std::uint32_t epoch = 0;  // barriers that its worker had passed: differs between blocks, too
  std::uint32_t time = 0;   // of the clock of atomics and fences
  std::uint16_t warp_epoch = 0;
  std::uint16_t who = 0;  // thread (10 bits), bytes of the word (4), atomic, write

  std::uint32_t thread() const { return who & 1023U; }
  bool atomic() const { return (who & 1U << 14) != 0; }
  bool writes() const { return (who & 1U << 15) != 0; }
  bool of_block_scope() const { return (place & kBlockScope) != 0; }
  bool is_volatile() const { return (place & kVolatilePlace) != 0; }
  bool is_under_way() const { return (place & kUnderWay) == kUnderWay; }
};

/// What is remembered of a 4-byte word: its last write, and two of the readers since.
struct alignas(64) cell {
  access write;
  access reader[2];
  std::atomic<std::uint8_t> locked;
  std::uint16_t variable;  // static shared memory: which it belongs to (static_shared.hpp)
};
static_assert(sizeof(cell) == 64, "one line of the cache");

/// Notes a race. It is reported when the launch ends, unless the launch has failed with an access
/// out of bounds: such accesses hit what belongs to other threads.
void note_race(worker& w, const access& now, const access& before, bool shared, excuse why);

/// Were the accesses of two threads ordered by what they released and acquired?
inline bool ordered_by_atomics(const thread_times& t, const worker& w, const access& before,
                               const access& now, excuse& why) {
  const auto after = [&](std::uint32_t time) { return later(time, before.time); };
  if (before.block != now.block) {
    if (const auto& meeting = w.launch->meeting; meeting != nullptr) {  // of all blocks of the grid
      const std::uint32_t met = meeting->checked_at.load(std::memory_order_relaxed);
      if (met != 0 && after(met)) return true;
    }
    const block_times& theirs = times_of(before.block);
    const bool released = after(theirs.published.load(std::memory_order_relaxed));
    const bool acquired = after(t.acquired_by_block) || after(t.block_atomic.get(w.block_epoch));
    if (released && acquired) return true;
    const bool used_atomics = after(t.block_atomic.last) || after(t.nearby.block_atomic.last);
    if ((released || after(theirs.published_nearby.load(std::memory_order_relaxed))) &&
        (acquired || after(t.nearby.acquired) || after(t.nearby.block_atomic.get(w.block_epoch))))
      why = excuse::block_scope_fence;
    else if (after(theirs.last_volatile.load(std::memory_order_relaxed)) && used_atomics)
      why = excuse::volatile_without_fences;
    else if (after(theirs.last_atomic.load(std::memory_order_relaxed)) && used_atomics)
      why = excuse::atomics_without_fences;
    return false;
  }
  const std::uint32_t me = now.thread(), other = before.thread();
  const auto& mine = t.of[me];
  const auto& theirs = t.of[other];
  const bool warp_went_on =
      static_cast<std::uint16_t>(w.warp_barriers[other / 32]) != before.warp_epoch;
  const bool released =
      after(theirs.published) || (warp_went_on && after(t.published_by_warp[other / 32]));
  if (released &&
      (after(mine.acquired) || after(t.warp_atomic[me / 32].get(w.warp_barriers[me / 32]))))
    return true;
  const auto used_atomic = [&](std::uint32_t thread) {
    return after(t.of[thread].last_atomic) || after(t.nearby.last_atomic[thread]);
  };
  if (after(t.last_volatile[other]) && after(t.last_volatile[me]))
    why = excuse::volatile_without_fences;
  else if (used_atomic(other) && used_atomic(me))
    why = excuse::atomics_without_fences;
  return false;
}

/// Of two atomic accesses to one word: is there something that keeps them from being that for each
/// other?
[[gnu::noinline, gnu::cold]] inline bool not_atomic_together(const access& before,
                                                             const access& now, excuse& why) {
  if (before.block != now.block && (before.of_block_scope() || now.of_block_scope())) {
    why = excuse::block_scope_atomic;
    return true;
  }
  if (!before.is_volatile() || !now.is_volatile()) return false;
  if (before.writes() && now.writes()) {
    why = excuse::volatile_update;
    return true;
  }
  return before.block == now.block && before.thread() / 32 == now.thread() / 32;
}

/// Does a barrier of the cluster lie between the running thread and an earlier access by another
/// block of it?
[[gnu::noinline, gnu::cold]] inline bool ordered_by_cluster(const worker& w, const access& before) {
  const std::uint32_t met = w.cluster->all->meeting.checked_at.load(std::memory_order_relaxed);
  return met != 0 && later(met, before.time) &&
         cluster_of_block(*w.launch, before.block - w.launch->first_serial) == w.cluster->cluster;
}

/// Two accesses to the same bytes of a word, of one launch and with no barrier of the block between
/// them: does nothing else order them?
[[gnu::noinline]] inline bool unordered(worker& w, thread_times& times, const access& before,
                                        const access& now, excuse& why) {
  excuse reason = excuse::none;
  if ((before.who & now.who & 0x4000U) != 0 && !not_atomic_together(before, now, reason))
    return false;
  if (w.cluster != nullptr && before.block != now.block && ordered_by_cluster(w, before))
    return false;
  if (ordered_by_atomics(times_of(times, w), w, before, now, why)) return false;
  if (reason == excuse::none && ((before.place | now.place) & kVolatilePlace) != 0) {
    const bool one_warp = before.block == now.block && before.thread() / 32 == now.thread() / 32;
    reason = before.writes() && now.writes() ? excuse::volatile_update
             : one_warp                      ? excuse::volatile_in_warp
                                             : excuse::volatile_without_fences;
  }
  if (reason != excuse::none) why = reason;
  return true;
}

/// Does nothing order these two accesses to one word?
template <bool kShared>
[[gnu::always_inline]] inline bool conflict(worker& w, thread_times& times, const access& before,
                                            const access& now, std::uint8_t flags, excuse& why) {
  if constexpr (kShared) {
    if (before.epoch != now.epoch) return false;  // another block's, or before a barrier
    // Whoever waits has the copy done first. So nothing else can come before its end, not even what
    // other words have released and acquired.
    if (before.is_under_way()) [[unlikely]]
      return (flags & kBulk) == 0 && (before.who & now.who & 0x3C00U) != 0;
  } else {
    const running_launch& launch = *w.launch;
    if (before.block - launch.first_serial >= launch.block_count || before.block == 0) return false;
    if ((flags & kTexture) != 0 && before.writes() && (before.who & now.who & 0x3C00U) != 0) {
      why = (flags & kLdg) != 0 ? excuse::stale_load : excuse::stale_texture;
      return true;
    }
    if (before.block == now.block && before.epoch != now.epoch) return false;
  }
  const unsigned both = before.who & now.who;
  if ((both & 0x3C00U) == 0) return false;
  if ((both & 0x4000U) != 0 && ((before.place | now.place) & (kBlockScope | kVolatilePlace)) == 0)
      [[likely]]
    return false;
  if (before.block == now.block) {
    if (before.thread() == now.thread()) return false;
    if (before.thread() / 32 == now.thread() / 32 && before.warp_epoch != now.warp_epoch)
      return false;
  }
  return unordered(w, times, before, now, why);
}

/// Compares an access with what the cell remembers, and has the cell remember it.
template <bool kShared>
[[gnu::always_inline]] inline bool look_at_word(worker& w, thread_times& times, cell& c,
                                                const access& now, std::uint8_t flags,
                                                access& culprit, excuse& why) {
  bool found = false;
  if (conflict<kShared>(w, times, c.write, now, flags, why)) {
    culprit = c.write;
    found = true;
  }
  access& first = c.reader[0];
  access& second = c.reader[1];
  if ((flags & kWrite) != 0) {
    if (first.block != 0) {
      if (conflict<kShared>(w, times, first, now, flags, why)) {
        culprit = first;
        found = true;
      }
      if (second.block != 0 && conflict<kShared>(w, times, second, now, flags, why)) {
        culprit = second;
        found = true;
      }
      first.block = second.block = 0;  // who races with them races with this write, too
      if constexpr (kShared) first.epoch = second.epoch = 0;
    }
    c.write = now;
  } else if (first.block != now.block || first.epoch != now.epoch ||
             first.thread() == now.thread()) {
    // Readers of two blocks: a block that writes next races with the other one.
    if constexpr (!kShared)
      if (first.block != now.block && first.block != 0) second = first;
    first = now;
  } else {
    second = now;  // two different threads of one epoch
  }
  return found;
}

/// Global cells are seen by all workers. One that was stopped while it held a cell never gives it
/// back, so waiting has an end.
inline void lock_cell(cell& c) {
  unsigned patience = 1U << 20;
  while (c.locked.exchange(1, std::memory_order_acquire) != 0 && --patience != 0) {
  }
}

/// The words of an access, one after the other; all of them are in one page.
template <bool kShared>
[[gnu::always_inline]] inline void look_at_words(worker& w, thread_times& times, cell* c,
                                                 std::uintptr_t address, std::size_t size,
                                                 access now, std::uint8_t flags) {
  const std::uint16_t base = now.who;
  for (;;) {
    const std::size_t offset = address & 3, in_word = std::min<std::size_t>(size, 4 - offset);
    now.who = static_cast<std::uint16_t>(base | ((1U << in_word) - 1U) << (10 + offset));
    access culprit;
    excuse why = excuse::none;
    if constexpr (!kShared) lock_cell(*c);
    const bool found = look_at_word<kShared>(w, times, *c, now, flags, culprit, why);
    if constexpr (!kShared) c->locked.store(0, std::memory_order_release);
    if (found) [[unlikely]]
      note_race(w, now, culprit, kShared, why);
    size -= in_word;
    if (size == 0) return;
    address += in_word;
    ++c;
  }
}

}  // namespace cpu_device::check
