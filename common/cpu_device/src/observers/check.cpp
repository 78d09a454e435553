// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The check build. Kernels are compiled with -fsanitize=thread, which makes the compiler call a
// __tsan_ function before each memory access. Those functions are ours: they know blocks, threads
// and barriers, and look for two accesses to one word that nothing orders.
//
// Every 4-byte word that kernels touch has a cell with its last write and two of its readers.
// Accesses are ordered when
//   - one thread made both, or they belong to different launches;
//   - they are of one block, and a block barrier lies between, or of one warp, and a warp function
//     lies between;
//   - the earlier one was released and the later one acquired. Released: after it a fence and then
//     an atomic, or an atomic of release order. Acquired: before it an atomic and then a fence or a
//     barrier, or an atomic of acquire order. That it was the same atomic is not asked, and between
//     blocks any thread of the block may do it, so this is generous.
// Two atomic accesses never race.
//
// This file is linked only into programs whose kernels were compiled that way.

#include "observers/check.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "observers/counters.hpp"

namespace cpu_device::check {
namespace {

// --- what orders accesses -----------------------------------------------------------------------

/// Counts atomics and fences.
std::atomic<std::uint32_t> clock_now{1};

/// Is `a` a later time than `b`? (The clock may wrap.)
bool later(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b) > 0; }

/// For times of several threads together: one of them may have an older time than the others.
void raise(std::uint32_t& time, std::uint32_t to) {
  if (later(to, time)) time = to;
}

/// The times of blocks, by a hash: blocks that share a place are excused too often.
struct block_times {
  std::atomic<std::uint32_t> published;  // what it did before this time, others may see
  std::atomic<std::uint32_t> last_atomic;
};
constinit block_times times_of_block[std::size_t{1} << 16];
block_times& times_of(std::uint32_t block) { return times_of_block[block & 0xFFFFU]; }

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
  std::uint32_t fence[kMaxThreads];  // the last fence that releases
  std::uint32_t last_atomic[kMaxThreads];
  std::uint32_t published[kMaxThreads];  // what it did before this time, others may see
  std::uint32_t acquired[kMaxThreads];   // what others published before this time, it sees
  std::uint32_t published_by_warp[kMaxThreads / 32];
  settled_time warp_atomic[kMaxThreads / 32];
  settled_time block_atomic;
  std::uint32_t acquired_by_block;
  std::uint32_t block;  // whose times these are
};

struct built_in_range {
  std::uintptr_t low;
  std::size_t bytes;
  bool has(std::uintptr_t address) const { return address - low < bytes; }
};

/// What is remembered for one worker. Zeroes at first.
struct watch_state {
  std::uintptr_t static_low;  // the program's thread-local variables, __shared__ ones among them
  std::size_t static_bytes;
  built_in_range built_in[2];  // of them, threadIdx and the like, and the engine's
  cell* static_cells;
  cell* dynamic_cells;
  struct {
    std::uintptr_t number;
    page* found;
  } recent[8];  // pages that were used last
  thread_times times;
};

constexpr std::size_t kDynamicRoom = (kSharedOptinLimit + 4095) / 4096 * 4096;

[[gnu::noinline]] watch_state& make_watch_state(worker& w) {
  const engine_work work(w);
  auto* s = static_cast<watch_state*>(mmap(nullptr, sizeof(watch_state), PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (s == MAP_FAILED) std::abort();
  const auto thread_pointer = reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
#if defined(__x86_64__)
  s->static_low = (thread_pointer - program_tls_bytes()) & ~std::uintptr_t{3};
  s->static_bytes = thread_pointer - s->static_low;
#else
  s->static_low = thread_pointer;
  s->static_bytes = program_tls_bytes() + 64;
#endif
  // engine.cpp has them side by side: those that begin as zeroes, and the others.
  const auto span = [](built_in_range& range, auto&... variables) {
    range.low = std::min({reinterpret_cast<std::uintptr_t>(&variables)...});
    range.bytes = std::max({reinterpret_cast<std::uintptr_t>(&variables + 1)...}) - range.low;
  };
  span(s->built_in[0], threadIdx, blockIdx, progress);
  span(s->built_in[1], blockDim, gridDim);
  s->static_cells = map_cells(s->static_bytes);
  s->dynamic_cells = map_cells(kDynamicRoom);
  w.watch = s;
  return *s;
}

inline watch_state& state_of(worker& w) {
  if (w.watch == nullptr) [[unlikely]]
    return make_watch_state(w);
  return *static_cast<watch_state*>(w.watch);
}

thread_times& times_of(worker& w) {
  thread_times& t = state_of(w).times;
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

void note_fence(int order) {
  if (!progress.watching) return;
  worker& w = *progress.self;
  thread_times& t = times_of(w);
  const std::uint32_t me = progress.position->linear;
  const std::uint32_t now = clock_now.fetch_add(1) + 1;
  if (releases(order)) t.fence[me] = now;
  if (acquires(order) && t.last_atomic[me] != 0) {
    t.acquired[me] = t.last_atomic[me];
    raise(t.acquired_by_block, t.acquired[me]);
  }
}

/// Before an atomic is done: what its thread has released goes with it.
void note_atomic(worker& w, int order) {
  thread_times& t = times_of(w);
  const std::uint32_t me = progress.position->linear;
  const std::uint32_t now = clock_now.fetch_add(1) + 1;
  const std::uint32_t released = releases(order) ? now : t.fence[me];
  times_of(w.serial).last_atomic.store(now, std::memory_order_relaxed);
  if (released == 0) return;
  t.published[me] = released;
  raise(t.published_by_warp[me / 32], released);
  std::atomic<std::uint32_t>& by_block = times_of(w.serial).published;
  if (later(released, by_block.load(std::memory_order_relaxed)))
    by_block.store(released, std::memory_order_relaxed);
}

/// After it: another worker may have released what this one acquires while it was under way.
void note_atomic_done(int order) {
  if (!progress.watching) return;
  worker& w = *progress.self;
  thread_times& t = times_of(w);
  const std::uint32_t me = progress.position->linear;
  const std::uint32_t now = clock_now.load();
  t.last_atomic[me] = now;
  t.warp_atomic[me / 32].note(now, w.warp_epoch[me / 32]);
  t.block_atomic.note(now, w.block_epoch);
  if (acquires(order)) {
    t.acquired[me] = now;
    raise(t.acquired_by_block, now);
  }
}

/// Were the accesses of two threads ordered by what they released and acquired?
bool ordered_by_atomics(worker& w, const access& before, const access& now, excuse& why) {
  const thread_times& t = times_of(w);
  if (before.block != now.block) {
    if (const auto& meeting = w.launch->meeting; meeting != nullptr) {  // of all blocks of the grid
      const std::uint32_t met = meeting->checked_at.load(std::memory_order_relaxed);
      if (met != 0 && later(met, before.time)) return true;
    }
    const block_times& theirs = times_of(before.block);
    const std::uint32_t by_barrier = t.block_atomic.get(w.block_epoch);
    if (later(theirs.last_atomic.load(std::memory_order_relaxed), before.time) &&
        later(t.block_atomic.last, before.time))
      why = excuse::atomics_without_fences;
    return later(theirs.published.load(std::memory_order_relaxed), before.time) &&
           (later(t.acquired_by_block, before.time) || later(by_barrier, before.time));
  }
  const std::uint32_t me = now.thread(), other = before.thread();
  if (later(t.last_atomic[other], before.time) && later(t.last_atomic[me], before.time))
    why = excuse::atomics_without_fences;
  const bool warp_went_on =
      static_cast<std::uint16_t>(w.warp_epoch[other / 32]) != before.warp_epoch;
  const bool released = later(t.published[other], before.time) ||
                        (warp_went_on && later(t.published_by_warp[other / 32], before.time));
  return released && (later(t.acquired[me], before.time) ||
                      later(t.warp_atomic[me / 32].get(w.warp_epoch[me / 32]), before.time));
}

// --- looking at a word --------------------------------------------------------------------------

/// Does nothing order these two accesses to one word?
template <bool kShared>
inline bool conflict(worker& w, const access& before, const access& now, std::uint8_t flags,
                     excuse& why) {
  if constexpr (kShared) {
    if (before.epoch != now.epoch) return false;  // another block's, or before a barrier
  } else {
    const running_launch& launch = *w.launch;
    if (before.block - launch.first_serial >= launch.block_count || before.block == 0) return false;
    if ((flags & kTexture) != 0 && before.writes() && (before.who & now.who & 0x3C00U) != 0) {
      why = excuse::stale_texture;
      return true;
    }
    if (before.block == now.block && before.epoch != now.epoch) return false;
  }
  const unsigned both = before.who & now.who;
  if ((both & 0x3C00U) == 0 || (both & 0x4000U) != 0) return false;
  if (before.block == now.block) {
    if (before.thread() == now.thread()) return false;
    if (before.thread() / 32 == now.thread() / 32 && before.warp_epoch != now.warp_epoch)
      return false;
  }
  return !ordered_by_atomics(w, before, now, why);
}

/// Compares an access with what the cell remembers, and has the cell remember it.
template <bool kShared>
inline bool look_at_word(worker& w, cell& c, const access& now, std::uint8_t flags, access& culprit,
                         excuse& why) {
  bool found = false;
  if (conflict<kShared>(w, c.write, now, flags, why)) {
    culprit = c.write;
    found = true;
  }
  access& first = c.reader[0];
  access& second = c.reader[1];
  if ((flags & kWrite) != 0) {
    if (first.block != 0) {
      if (conflict<kShared>(w, first, now, flags, why)) {
        culprit = first;
        found = true;
      }
      if (second.block != 0 && conflict<kShared>(w, second, now, flags, why)) {
        culprit = second;
        found = true;
      }
      first.block = second.block = 0;  // who races with them races with this write, too
      if constexpr (kShared) first.epoch = second.epoch = 0;
    }
    c.write = now;
  } else if (first.block != now.block || first.epoch != now.epoch ||
             first.thread() == now.thread()) {
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

template <bool kShared>
[[gnu::noinline]] void tell(worker& w, const access& now, const access& before, excuse why) {
  report_race(w, now, before, kShared, why);
}

/// The words of an access, one after the other; all of them are in one page.
template <bool kShared>
inline void look_at_words(worker& w, cell* c, std::uintptr_t address, std::size_t size, access now,
                          std::uint8_t flags) {
  const std::uint16_t base = now.who;
  for (;;) {
    const std::size_t offset = address & 3, in_word = std::min<std::size_t>(size, 4 - offset);
    now.who = static_cast<std::uint16_t>(base | ((1U << in_word) - 1U) << (10 + offset));
    access culprit;
    excuse why = excuse::none;
    if constexpr (!kShared) lock_cell(*c);
    const bool found = look_at_word<kShared>(w, *c, now, flags, culprit, why);
    if constexpr (!kShared) c->locked.store(0, std::memory_order_release);
    if (found) [[unlikely]]
      tell<kShared>(w, now, culprit, why);
    size -= in_word;
    if (size == 0) return;
    address += in_word;
    ++c;
  }
}

[[gnu::noinline]] void look_at_host_code(std::uintptr_t address, std::uint8_t flags,
                                         const void* pc) {
  const page* p = find_page(address);
  if (p == nullptr || (p->device.load(std::memory_order_relaxed) & part_of(address)) == 0) return;
  if (!inside_kernel()) report_host_access(address, flags, pc);
}

inline page* page_of(watch_state& s, std::uintptr_t address) {
  const std::uintptr_t number = address >> kPageBits;
  auto& recent = s.recent[number % 8];
  if (recent.number != number) {
    recent.found = find_page(address);
    recent.number = recent.found != nullptr ? number : 0;
  }
  return recent.found;
}

inline bool is_watched(const page* p, std::uintptr_t address) {
  return p != nullptr && (p->watched.load(std::memory_order_relaxed) & part_of(address)) != 0;
}

const char* size_name(std::size_t size) {
  return size == 2 ? "2 bytes" : size == 4 ? "4 bytes" : size == 8 ? "8 bytes" : "16 bytes";
}

/// Each access of watched code comes by here, unless look_quickly() can do it.
[[gnu::noinline]] void look(const void* pointer, std::size_t size, std::uint8_t flags,
                            const void* pc, int order = __ATOMIC_RELAXED) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (!progress.watching) [[unlikely]] {
    look_at_host_code(address, flags, pc);
    return;
  }
  if (size == 0) return;
  if ((flags & (kAligned | kAtomic)) != 0) {
    const std::size_t alignment = (flags & kAtomic) != 0 ? size : std::min<std::size_t>(size, 8);
    if ((address & (alignment - 1)) != 0) [[unlikely]]
      refuse_misaligned(address, alignment,
                        (flags & kAtomic) != 0  ? "updates"
                        : (flags & kWrite) != 0 ? "writes"
                                                : "reads",
                        size_name(size), pc);
  }
  worker& w = *progress.self;
  watch_state& s = state_of(w);
  // Static variables come before the thread's own ones: the C library keeps an OS thread's static
  // variables at the end of its stack.
  cell* shared = nullptr;
  if (address - s.static_low < s.static_bytes) {
    if (s.built_in[0].has(address) || s.built_in[1].has(address)) return;
    shared = s.static_cells + (address - s.static_low) / 4;
  } else if (address - reinterpret_cast<std::uintptr_t>(w.shared_low) < kDynamicRoom) {
    shared = s.dynamic_cells + (address - reinterpret_cast<std::uintptr_t>(w.shared_low)) / 4;
  } else {
    const fiber& stack = *w.current;
    if (address - reinterpret_cast<std::uintptr_t>(stack.low) <
        static_cast<std::uintptr_t>(stack.own_top - stack.low))
      return;  // the thread's own variables
  }

  if ((flags & kAtomic) != 0) note_atomic(w, order);
  const std::uint32_t thread = progress.position->linear;
  access now;
  now.place = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(pc) - program_begin());
  now.block = w.serial;
  now.epoch = w.block_epoch;
  now.time = clock_now.load(std::memory_order_relaxed);
  now.warp_epoch = static_cast<std::uint16_t>(w.warp_epoch[thread / 32]);
  now.who = static_cast<std::uint16_t>(thread | ((flags & kAtomic) != 0 ? 0x4000U : 0U) |
                                       ((flags & kWrite) != 0 ? 0x8000U : 0U));
  if (counting_accesses && (flags & kTexture) == 0 &&
      (shared != nullptr || is_watched(page_of(s, address), address))) [[unlikely]]
    count_access(w, address, size, (flags & kWrite) != 0, (flags & kAtomic) != 0,
                 (flags & kRange) != 0, shared != nullptr, now.place);

  if (shared != nullptr) {
    look_at_words<true>(w, shared, address, size, now, flags);
    return;
  }
  std::uintptr_t at = address;
  const std::uintptr_t end = address + size;
  while (at < end) {
    const std::uintptr_t part_end =
        std::min(end, (at | ((std::uintptr_t{1} << kPartBits) - 1)) + 1);
    const page* p = page_of(s, at);
    if (!is_watched(p, at)) [[unlikely]] {
      look_at_unknown(w, at, flags, pc);
    } else {
      cell* cells = p->cells.load(std::memory_order_relaxed);
      look_at_words<false>(w, cells + (at / 4 & (kCellsPerPage - 1)), at, part_end - at, now,
                           flags);
    }
    at = part_end;
  }
}

/// look() for the most frequent access: one word of static shared memory is read that nobody wrote
/// since the last barrier.
template <unsigned kSize>
[[gnu::always_inline]] inline void look_quickly(const void* pointer, const void* pc) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (progress.watching && !counting_accesses) [[likely]] {
    const worker& w = *progress.self;
    if (w.watch != nullptr) [[likely]] {
      const watch_state& s = *static_cast<const watch_state*>(w.watch);
      const std::uintptr_t at = address - s.static_low;
      if (at < s.static_bytes && at % kSize == 0) {
        if (s.built_in[0].has(address)) return;
        cell& c = s.static_cells[at / 4];
        const std::uint32_t epoch = w.block_epoch;
        if (c.write.epoch != epoch) [[likely]] {
          const std::uint32_t thread = progress.position->linear;
          access now;
          now.place =
              static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(pc) - program_begin());
          now.block = w.serial;
          now.epoch = epoch;
          now.time = clock_now.load(std::memory_order_relaxed);
          now.warp_epoch = static_cast<std::uint16_t>(w.warp_epoch[thread / 32]);
          now.who = static_cast<std::uint16_t>(thread | ((1U << kSize) - 1U) << (10 + at % 4));
          const access& first = c.reader[0];
          c.reader[first.epoch == epoch && first.thread() != thread ? 1 : 0] = now;
          return;
        }
      }
    }
  }
  look(pointer, kSize, kAligned, pc);
}

void forget_watch(worker& w) {
  auto* s = static_cast<watch_state*>(w.watch);
  if (s == nullptr) return;
  unmap_cells(s->static_cells, s->static_bytes);
  unmap_cells(s->dynamic_cells, kDynamicRoom);
  munmap(s, sizeof *s);
  w.watch = nullptr;
}

[[maybe_unused]] const bool hooked = [] {
  hooks.worker_ends = forget_watch;
  hooks.new_time = [] { return clock_now.fetch_add(1) + 1; };
  return true;
}();

/// Notes the time after an atomic, too.
struct end_of_atomic {
  int order;
  ~end_of_atomic() { note_atomic_done(order); }
};

}  // namespace
}  // namespace cpu_device::check

/// textures.h: their functions are not watched, but say what they access.
extern "C" void cpu_device_look_at_call(const void* address, std::size_t bytes, int write,
                                        int texture, const char* file, int line) {
  namespace check = cpu_device::check;
  if (!cpu_device::progress.watching) return;
  check::look(
      address, bytes,
      static_cast<std::uint8_t>((write != 0 ? check::kWrite : 0) |
                                (texture != 0 ? check::kTexture : 0)),
      reinterpret_cast<const void*>(check::program_begin() + check::place_of_call(file, line)));
}

// --- what the compiler calls --------------------------------------------------------------------

using cpu_device::check::end_of_atomic;
using cpu_device::check::kAligned;
using cpu_device::check::kAtomic;
using cpu_device::check::kRange;
using cpu_device::check::kWrite;
using cpu_device::check::look;
using cpu_device::check::look_quickly;

#define CPU_DEVICE_LOOK(pointer, size, flags) \
  look(pointer, size, flags, __builtin_return_address(0))

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

#define CPU_DEVICE_READ_1(p) look_quickly<1>(p, __builtin_return_address(0))
#define CPU_DEVICE_READ_2(p) look_quickly<2>(p, __builtin_return_address(0))
#define CPU_DEVICE_READ_4(p) look_quickly<4>(p, __builtin_return_address(0))
#define CPU_DEVICE_READ_8(p) CPU_DEVICE_LOOK(p, 8, kAligned)
#define CPU_DEVICE_READ_16(p) CPU_DEVICE_LOOK(p, 16, kAligned)
#define CPU_DEVICE_WRITE(p, size) CPU_DEVICE_LOOK(p, size, kAligned | kWrite)
#define CPU_DEVICE_ACCESS(size)                                                         \
  void __tsan_read##size(void* p) { CPU_DEVICE_READ_##size(p); }                        \
  void __tsan_write##size(void* p) { CPU_DEVICE_WRITE(p, size); }                       \
  void __tsan_read_write##size(void* p) { CPU_DEVICE_WRITE(p, size); }                  \
  void __tsan_unaligned_read##size(void* p) { CPU_DEVICE_LOOK(p, size, 0); }            \
  void __tsan_unaligned_write##size(void* p) { CPU_DEVICE_LOOK(p, size, kWrite); }      \
  void __tsan_unaligned_read_write##size(void* p) { CPU_DEVICE_LOOK(p, size, kWrite); } \
  void __tsan_volatile_read##size(void* p) { CPU_DEVICE_LOOK(p, size, kAligned); }      \
  void __tsan_volatile_write##size(void* p) { CPU_DEVICE_WRITE(p, size); }
CPU_DEVICE_ACCESS(1)
CPU_DEVICE_ACCESS(2)
CPU_DEVICE_ACCESS(4)
CPU_DEVICE_ACCESS(8)
CPU_DEVICE_ACCESS(16)

void __tsan_read_range(void* p, std::size_t n) { CPU_DEVICE_LOOK(p, n, kRange); }
void __tsan_write_range(void* p, std::size_t n) { CPU_DEVICE_LOOK(p, n, kRange | kWrite); }
void* __tsan_memcpy(void* to, const void* from, std::size_t n) {
  CPU_DEVICE_LOOK(from, n, 0);
  CPU_DEVICE_LOOK(to, n, kWrite);
  return std::memcpy(to, from, n);
}
void* __tsan_memmove(void* to, const void* from, std::size_t n) {
  CPU_DEVICE_LOOK(from, n, 0);
  CPU_DEVICE_LOOK(to, n, kWrite);
  return std::memmove(to, from, n);
}
void* __tsan_memset(void* to, int value, std::size_t n) {
  CPU_DEVICE_LOOK(to, n, kWrite);
  return std::memset(to, value, n);
}

// Atomics are done here, in the strongest order, whatever the program asked for: what it asked for
// decides what they order.
#define CPU_DEVICE_LOOK_ATOMIC(pointer, size, flags, order)       \
  look(pointer, size, flags, __builtin_return_address(0), order); \
  const end_of_atomic end { order }
#define CPU_DEVICE_ATOMICS(bits, T)                                                                \
  T __tsan_atomic##bits##_load(const volatile T* p, int order) {                                   \
    CPU_DEVICE_LOOK_ATOMIC(const_cast<const T*>(p), sizeof(T), kAtomic, order);                    \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                   \
  }                                                                                                \
  void __tsan_atomic##bits##_store(volatile T* p, T v, int order) {                                \
    CPU_DEVICE_LOOK_ATOMIC(const_cast<T*>(p), sizeof(T), kAtomic | kWrite, order);                 \
    __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                      \
  }                                                                                                \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile T* p, T* expected, T v, int order,    \
                                                    int) {                                         \
    CPU_DEVICE_LOOK_ATOMIC(const_cast<T*>(p), sizeof(T), kAtomic | kWrite, order);                 \
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }                                                                                                \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile T* p, T* expected, T v, int order,      \
                                                  int) {                                           \
    CPU_DEVICE_LOOK_ATOMIC(const_cast<T*>(p), sizeof(T), kAtomic | kWrite, order);                 \
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }                                                                                                \
  T __tsan_atomic##bits##_compare_exchange_val(volatile T* p, T expected, T v, int order, int) {   \
    CPU_DEVICE_LOOK_ATOMIC(const_cast<T*>(p), sizeof(T), kAtomic | kWrite, order);                 \
    __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);       \
    return expected;                                                                               \
  }                                                                                                \
  CPU_DEVICE_UPDATE(bits, T, exchange, __atomic_exchange_n)                                        \
  CPU_DEVICE_UPDATE(bits, T, fetch_add, __atomic_fetch_add)                                        \
  CPU_DEVICE_UPDATE(bits, T, fetch_sub, __atomic_fetch_sub)                                        \
  CPU_DEVICE_UPDATE(bits, T, fetch_and, __atomic_fetch_and)                                        \
  CPU_DEVICE_UPDATE(bits, T, fetch_or, __atomic_fetch_or)                                          \
  CPU_DEVICE_UPDATE(bits, T, fetch_xor, __atomic_fetch_xor)                                        \
  CPU_DEVICE_UPDATE(bits, T, fetch_nand, __atomic_fetch_nand)
#define CPU_DEVICE_UPDATE(bits, T, name, builtin)                                  \
  T __tsan_atomic##bits##_##name(volatile T* p, T v, int order) {                  \
    CPU_DEVICE_LOOK_ATOMIC(const_cast<T*>(p), sizeof(T), kAtomic | kWrite, order); \
    return builtin(p, v, __ATOMIC_SEQ_CST);                                        \
  }
CPU_DEVICE_ATOMICS(8, std::uint8_t)
CPU_DEVICE_ATOMICS(16, std::uint16_t)
CPU_DEVICE_ATOMICS(32, std::uint32_t)
CPU_DEVICE_ATOMICS(64, std::uint64_t)

void __tsan_atomic_thread_fence(int order) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  cpu_device::check::note_fence(order);
}
void __tsan_atomic_signal_fence(int) {}

// -fsanitize=alignment: g++ calls this where it uses an address that is no multiple of the type's
// alignment. It sees what the functions above do not: structures, and vectors that are accessed by
// their components here but as a whole on a GPU.
struct cpu_device_type_mismatch {
  const char* file;
  std::uint32_t line, column;
  const struct {
    std::uint16_t kind, info;
    char name[1];  // 'const struct float4'
  } * type;
  std::uint8_t log_alignment;
  std::uint8_t kind;  // 0: reads, 1: writes; others: a reference (whose structure is copied) …
};
void __ubsan_handle_type_mismatch_v1(const cpu_device_type_mismatch* what, std::uintptr_t address) {
  if (!cpu_device::progress.watching) return;
  cpu_device::check::refuse_misaligned(address, std::size_t{1} << what->log_alignment,
                                       what->kind == 0   ? "reads"
                                       : what->kind == 1 ? "writes"
                                                         : "uses",
                                       what->type->name, __builtin_return_address(0));
}

}  // extern "C"
