// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The check build: what fences, atomics and volatile accesses order, and for whom. An access is
// ordered before another one's if it was released and the other acquired it:
//   released: after it a fence and then an atomic, or an atomic of release order;
//   acquired: before it an atomic and then a fence or a barrier, or an atomic of acquire order.
// Between blocks, fences and atomics of block scope do neither. That it was the same atomic is not
// asked, and between blocks any thread of the block may do it, so this is generous.
//
// A volatile access is a relaxed atomic in this, as it is in PTX; a write is one only behind a
// fence, since without a fence there is nothing that it could give away.
//
// Internal to the CPU device; linked only into programs whose kernels are watched.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "cpu_device/events.h"
#include "engine/engine.hpp"

namespace cpu_device::check {

/// Counts atomics and fences.
extern std::atomic<std::uint32_t> clock_now;

/// Is `a` a later time than `b`? (The clock may wrap.)
inline bool later(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b) > 0; }

/// For times of several threads together: one of them may have an older time than the others.
inline void raise(std::uint32_t& time, std::uint32_t to) {
  if (later(to, time)) time = to;
}
inline void raise(std::atomic<std::uint32_t>& time, std::uint32_t to) {
  if (later(to, time.load(std::memory_order_relaxed))) time.store(to, std::memory_order_relaxed);
}

/// The times of blocks, by a hash: blocks that share a place are excused too often.
struct block_times {
  std::atomic<std::uint32_t> published;         // what it did before this time, others may see
  std::atomic<std::uint32_t> published_nearby;  // ... by what has block scope, if that reached them
  std::atomic<std::uint32_t> last_atomic;
  std::atomic<std::uint32_t> last_volatile;
};
extern constinit block_times times_of_blocks[std::size_t{1} << 16];
inline block_times& times_of(std::uint32_t block) { return times_of_blocks[block & 0xFFFFU]; }

/// The time of the last atomic before the running epoch, which a barrier has ended.
struct settled_time {
  std::uint32_t last, epoch, before;
  void note(std::uint32_t time, std::uint32_t now) {
    if (epoch != now) {
      before = last;
      epoch = now;
    }
    last = time;
  }
  std::uint32_t get(std::uint32_t now) const { return epoch != now ? last : before; }
};

/// The times of the running block's threads. All 0 until the first fence or atomic.
struct thread_times {
  struct {
    std::uint32_t fence;         // the last fence that releases
    std::uint32_t device_fence;  // ... to other blocks
    std::uint32_t last_atomic;
    std::uint32_t published;  // what it did before this time, others of the block may see
    std::uint32_t acquired;   // what others of the block published before this time, it sees
  } of[kMaxThreads];
  std::uint32_t published_by_warp[kMaxThreads / 32];
  settled_time warp_atomic[kMaxThreads / 32];
  settled_time block_atomic;
  std::uint32_t acquired_by_block;
  struct {  // atomics and fences of block scope
    std::uint32_t last_atomic[kMaxThreads];
    settled_time block_atomic;
    std::uint32_t acquired;  // if that reached beyond the block
  } nearby;
  std::uint32_t last_volatile[kMaxThreads];
  std::uint32_t block;  // whose times these are
};

inline thread_times& times_of(thread_times& t, const worker& w) {
  if (t.block != w.serial) {
    std::memset(&t, 0, sizeof t);
    t.block = w.serial;
  }
  return t;
}

constexpr bool releases(int order) { return order >= __ATOMIC_RELEASE; }
constexpr bool acquires(int order) {
  return order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE;
}

inline void note_fence(thread_times& t, std::uint32_t me, int order, event_scope scope) {
  auto& mine = t.of[me];
  const std::uint32_t now = clock_now.fetch_add(1) + 1;
  const bool far = scope >= event_scope::device;
  if (releases(order)) {
    mine.fence = now;
    if (far) mine.device_fence = now;
  }
  if (!acquires(order)) return;
  const std::uint32_t near = t.nearby.last_atomic[me];
  if (mine.last_atomic != 0) {
    mine.acquired = mine.last_atomic;
    raise(far ? t.acquired_by_block : t.nearby.acquired, mine.last_atomic);
  }
  if (near != 0) {
    raise(mine.acquired, near);
    raise(t.nearby.acquired, near);
  }
}

/// Before an atomic is done: what its thread has released goes with it.
inline void note_atomic(thread_times& t, const worker& w, std::uint32_t me, int order,
                        event_scope scope) {
  auto& mine = t.of[me];
  const std::uint32_t now = clock_now.fetch_add(1) + 1;
  block_times& ours = times_of(w.serial);
  ours.last_atomic.store(now, std::memory_order_relaxed);
  const std::uint32_t released = releases(order) ? now : mine.fence;
  if (released == 0) return;
  mine.published = released;
  raise(t.published_by_warp[me / 32], released);
  const std::uint32_t far = releases(order) ? now : mine.device_fence;
  if (scope >= event_scope::device && far != 0) raise(ours.published, far);
  if (scope < event_scope::device || far != released) [[unlikely]]
    raise(ours.published_nearby, released);
}

/// After it, with what the clock says then: another worker may have released what this one acquires
/// while it was under way.
inline void note_atomic_done(thread_times& t, const worker& w, std::uint32_t me, int order,
                             event_scope scope, std::uint32_t now) {
  auto& mine = t.of[me];
  t.warp_atomic[me / 32].note(now, w.warp_barriers[me / 32]);
  if (acquires(order)) mine.acquired = now;
  if (scope >= event_scope::device) [[likely]] {
    mine.last_atomic = now;
    t.block_atomic.note(now, w.block_epoch);
    if (acquires(order)) raise(t.acquired_by_block, now);
  } else {
    t.nearby.last_atomic[me] = now;
    t.nearby.block_atomic.note(now, w.block_epoch);
    if (acquires(order)) raise(t.nearby.acquired, now);
  }
}

/// A volatile access. It is done after this, so what a read acquires may be newer: by all that
/// others do while the reader's OS thread has no processor. Where many blocks spin, that is a lot.
inline void note_volatile(thread_times& t, const worker& w, std::uint32_t me, bool write) {
  constexpr std::uint32_t kMeanwhile = 1U << 28;
  if (write)
    note_atomic(t, w, me, __ATOMIC_RELAXED, event_scope::system);
  else
    note_atomic_done(t, w, me, __ATOMIC_RELAXED, event_scope::system,
                     clock_now.load() + kMeanwhile);
  const std::uint32_t now = clock_now.fetch_add(1) + 1;
  t.last_volatile[me] = now;
  times_of(w.serial).last_volatile.store(now, std::memory_order_relaxed);
}

/// What two accesses that nothing orders had between them nevertheless: decides what is advised.
enum class excuse {
  none,
  atomics_without_fences,
  volatile_without_fences,
  block_scope_fence,   // fences or atomics of block scope, between blocks
  block_scope_atomic,  // both are atomic; one has block scope
  volatile_update,     // both write, and volatile
  volatile_in_warp,    // lanes of one warp
  stale_texture,
  stale_load  // __ldg()
};

}  // namespace cpu_device::check
