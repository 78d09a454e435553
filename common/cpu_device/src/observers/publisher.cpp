// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The check build. Kernels are compiled with -fsanitize=thread, which makes the compiler call a
// __tsan_ function before each memory access. Those functions are ours: they find out what kind of
// memory it is, and tell the checks, and the observers of access and fence events.
//
// The checks know nothing of each other. They are told by ordinary calls that the compiler can
// expand, since kernels make some 10^8 accesses a second; other observers by virtual ones.
//
// This file is linked only into programs whose kernels were compiled that way.

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/events.hpp"
#include "cpu_device.h"
#include "cpu_device/atomics.h"
#include "engine/bulk_copies.hpp"
#include "observers/alignment_check.hpp"
#include "observers/cluster_check.hpp"
#include "observers/local_arrays.hpp"
#include "observers/memory_check.hpp"
#include "observers/race_check.hpp"
#include "observers/static_shared.hpp"
#include "observers/watched_code.hpp"
#include "observers/watched_memory.hpp"

namespace cpu_device {

/// What counts begins with a variable of the environment, CPU_DEVICE_COUNTERS, and no code need ask
/// for it: this has the linker take it.
[[gnu::used]] void (*const counts)(bool) = count_accesses;

namespace check {
namespace {

struct built_in_range {
  std::uintptr_t low;
  std::size_t bytes;
  bool has(std::uintptr_t address) const { return address - low < bytes; }
};

/// What is remembered for one worker. Zeroes at first.
struct watch_state {
  std::size_t static_bytes;    // the program's thread-local variables, __shared__ ones among them
  built_in_range built_in[2];  // of them, threadIdx and the like, and the engine's
  cell* dynamic_cells;
  recent_pages pages;
  local_arrays* locals;
  thread_times times;
  static_variables static_watch;
};

constexpr std::size_t kDynamicRoom = (kSharedOptinLimit + 4095) / 4096 * 4096;

[[gnu::noinline]] watch_state& make_watch_state(worker& w) {
  const engine_work work(w);
  auto* s = static_cast<watch_state*>(mmap(nullptr, sizeof(watch_state), PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (s == MAP_FAILED) std::abort();
  const auto thread_pointer = reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
#if defined(__x86_64__)
  s->static_watch.low = (thread_pointer - program_tls_bytes()) & ~std::uintptr_t{3};
  s->static_bytes = thread_pointer - s->static_watch.low;
#else
  s->static_watch.low = thread_pointer;
  s->static_bytes = program_tls_bytes() + 64;
#endif
  // engine.cpp has them side by side: those that begin as zeroes, and the others.
  const auto span = [](built_in_range& range, auto&... variables) {
    range.low = std::min({reinterpret_cast<std::uintptr_t>(&variables)...});
    range.bytes = std::max({reinterpret_cast<std::uintptr_t>(&variables + 1)...}) - range.low;
  };
  span(s->built_in[0], threadIdx, blockIdx, progress);
  span(s->built_in[1], blockDim, gridDim);
  s->static_watch.cells = map_cells(s->static_bytes);
  s->dynamic_cells = map_cells(kDynamicRoom);
  w.watch = s;
  return *s;
}

void forget_watch(worker& w) {
  auto* s = static_cast<watch_state*>(w.watch);
  if (s == nullptr) return;
  w.open_watch.store(nullptr);
  delete s->locals;
  unmap_cells(s->static_watch.cells, s->static_bytes);
  unmap_cells(s->dynamic_cells, kDynamicRoom);
  munmap(s, sizeof *s);
  w.watch = nullptr;
}

[[maybe_unused]] const bool hooked = [] {
  hooks.worker_ends = forget_watch;
  hooks.new_time = [] { return clock_now.fetch_add(1) + 1; };
  return true;
}();

inline watch_state& state_of(worker& w) {
  if (w.watch == nullptr) [[unlikely]]
    return make_watch_state(w);
  return *static_cast<watch_state*>(w.watch);
}

[[maybe_unused]] const bool clusters_are_hooked = [] {
  hooks.cluster_met = [](worker& w, bool leaves) {
    const watch_state& s = state_of(w);
    compare_with_remote(
        w, times_of(state_of(w).times, w), leaves, [&](std::uintptr_t own) -> const cell& {
          const std::uintptr_t in_static = own - s.static_watch.low;
          return in_static < s.static_bytes
                     ? s.static_watch.cells[in_static / 4]
                     : s.dynamic_cells[(own - reinterpret_cast<std::uintptr_t>(w.shared_low)) / 4];
        });
  };
  return true;
}();

inline watch_state* open_watch_of(const worker& w) {
  return static_cast<watch_state*>(w.open_watch.load(std::memory_order_relaxed));
}

/// Who is between block_scope's or system_scope's begin() and end(), and nobody: a block that is
/// given up there never comes to the end.
constexpr std::uint64_t kNobody = 0;
struct chosen_scope {
  std::uint64_t who = kNobody;
  event_scope scope = event_scope::device;
};
thread_local constinit chosen_scope chosen;
inline std::uint64_t this_thread() {
  return std::uint64_t{progress.self->serial} << 32 | (progress.position->linear + 1);
}
inline event_scope scope_of_this_thread() {
  if (chosen.who == kNobody) [[likely]]
    return event_scope::device;
  return chosen.who == this_thread() ? chosen.scope : event_scope::device;
}

/// A worker's first access, or the next one after a thread that runs for long was asked for it:
/// others of the block may run meanwhile.
[[gnu::noinline, gnu::cold]] watch_state& open_watch(worker& w, const void* pc) {
  watch_state& s = state_of(w);
  w.open_watch.store(&s, std::memory_order_relaxed);
  const chosen_scope scope = chosen;
  look_at_access(w, pc);
  chosen = scope;
  return s;
}

[[gnu::noinline]] void publish_access(worker& w, std::uintptr_t address, std::size_t size,
                                      std::uint8_t flags, bool shared, const void* pc) {
  const engine_work work(w);  // an observer's code may be watched, too
  const std::uint32_t thread = progress.position->linear;
  publish(event_kind::access, &observer::accessed,
          {address, size, (flags & kWrite) != 0, (flags & kAtomic) != 0, shared,
           (flags & kRange) != 0, scope_of_this_thread(), w.serial, thread, pc});
}

[[gnu::noinline]] void publish_fetch(const void* texel, std::size_t bytes) {
  worker& w = *progress.self;
  const std::uint32_t thread = progress.position->linear;
  const engine_work work(w);
  publish(event_kind::fetch, &observer::fetched, {texel, bytes, w.serial, thread});
}

/// Before an atomic: gives the bits of its place.
inline std::uint32_t begin_atomic(thread_times& times, const worker& w, std::uint32_t thread,
                                  int order) {
  const event_scope scope = scope_of_this_thread();
  note_atomic(times_of(times, w), w, thread, order, scope);
  return scope == event_scope::block ? kBlockScope : 0;
}

/// Before a volatile access: is it as good as an atomic one?
[[gnu::noinline]] bool begin_volatile(thread_times& times, const worker& w, std::uint32_t thread,
                                      bool write) {
  note_volatile(times_of(times, w), w, thread, write);
  return !write || times.of[thread].fence != 0;
}

/// An access to what is neither the block's own nor global memory.
[[gnu::noinline, gnu::cold]] void look_elsewhere(worker& w, watch_state& s, const page* p,
                                                 std::uintptr_t address, std::size_t size,
                                                 const access& now, std::uint8_t flags,
                                                 const void* pc) {
  remote_shared where{};
  if (!find_remote_access(w, address, where))
    return look_at_unknown(w, p, address, size, flags, pc);
  if (where.own - reinterpret_cast<std::uintptr_t>(w.shared_low) < kDynamicRoom + kSharedGuard)
    check_shared_bounds(w, where.own, size, flags, pc);
  look_at_remote(w, times_of(s.times, w), where, size, now, flags);
}

[[gnu::noinline, gnu::cold]] cell* first_cells(worker& w, page& p) {
  const engine_work work(w);  // what is allocated here is not the kernel's
  return make_cells(p);
}

/// An access to global memory that lies in one part of a page.
[[gnu::always_inline]] inline void look_at_part(worker& w, watch_state& s, std::uintptr_t address,
                                                std::size_t size, const access& now,
                                                std::uint8_t flags, const void* pc) {
  page* p = s.pages.find(address);
  if (!is_watched(p, address, size)) [[unlikely]]
    return look_elsewhere(w, s, p, address, size, now, flags, pc);
  if ((flags & (kTexture | kBulk)) == 0 && listening(event_kind::access)) [[unlikely]]
    publish_access(w, address, size, flags, false, pc);
  cell* cells = p->cells.load(std::memory_order_acquire);
  if (cells == nullptr) [[unlikely]]
    cells = first_cells(w, *p);
  look_at_words<false>(w, s.times, cells + (address / 4 & (kCellsPerPage - 1)), address, size, now,
                       flags);
}

[[gnu::noinline]] void look_at_local(worker& w, local_arrays& locals, std::uintptr_t address,
                                     std::size_t size, std::uint8_t flags, const void* pc) {
  {
    const engine_work work(w);
    std::string what = locals.look(w.serial, progress.position->linear, address, size,
                                   (flags & kWrite) != 0, w.block_epoch, pc);
    if (what.empty()) return;
    w.problem.what = failure::kind::misuse;
    w.problem.error = cudaErrorUnknown;
    w.problem.text = this_thread_text(w) + what;
  }
  give_up_block(w);
}

/// Each access of watched code comes by here, unless look_quickly() can do it. Gives the times of
/// the block's threads; null for what is not looked at.
[[gnu::noinline]] thread_times* look(const void* pointer, std::size_t size, std::uint8_t flags,
                                     const void* pc, int order = __ATOMIC_RELAXED) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (!progress.watching) [[unlikely]] {
    check_host_access(address, flags, pc);
    return nullptr;
  }
  if (size == 0) return nullptr;
  worker& w = *progress.self;
  watch_state* const opened = open_watch_of(w);
  watch_state& s = opened != nullptr ? *opened : open_watch(w, pc);
  // Static variables come before the thread's own ones: the C library keeps an OS thread's static
  // variables at the end of its stack.
  cell* shared = nullptr;
  if (address - s.static_watch.low < s.static_bytes) {
    if ((flags & kWrite) == 0 && (s.built_in[0].has(address) || s.built_in[1].has(address)))
      return nullptr;
    shared = s.static_watch.cells + (address - s.static_watch.low) / 4;
    if (!s.static_watch.have(*shared, address, size)) [[unlikely]]
      look_beside_static(w, s.static_watch, address, size, flags, pc);
  } else if (address - reinterpret_cast<std::uintptr_t>(w.shared_low) < kDynamicRoom) {
    check_shared_bounds(w, address, size, flags, pc);
    shared = s.dynamic_cells + (address - reinterpret_cast<std::uintptr_t>(w.shared_low)) / 4;
  } else {
    const fiber_stack& stack = w.stacks[w.current->stack];
    if (address - reinterpret_cast<std::uintptr_t>(stack.low) <
        static_cast<std::uintptr_t>(stack.own_top - stack.low)) {
      if (s.locals != nullptr) [[unlikely]]
        look_at_local(w, *s.locals, address, size, flags, pc);
      return nullptr;  // the thread's own variables
    }
  }

  const std::uint32_t thread = progress.position->linear;
  access now;
  now.place = place_of(pc);
  unsigned bits = thread | ((flags & kWrite) != 0 ? 0x8000U : 0U);
  if ((flags & kAtomic) != 0) {
    now.place |= begin_atomic(s.times, w, thread, order);
    bits |= 0x4000U;
  } else if ((flags & kVolatile) != 0) [[unlikely]] {
    now.place |= kVolatilePlace;
    if (begin_volatile(s.times, w, thread, (flags & kWrite) != 0)) bits |= 0x4000U;
  }
  now.block = w.serial;
  now.epoch = w.block_epoch;
  now.time = clock_now.load(std::memory_order_relaxed);
  now.warp_epoch = static_cast<std::uint16_t>(w.warp_barriers[thread / 32]);
  now.who = static_cast<std::uint16_t>(bits);

  if (shared != nullptr) {
    if ((flags & kBulk) == 0 && listening(event_kind::access)) [[unlikely]]
      publish_access(w, address, size, flags, true, pc);
    look_at_words<true>(w, s.times, shared, address, size, now, flags);
    return &s.times;
  }
  const std::size_t room = kPartMask + 1 - (address & kPartMask);  // in this part of a page
  look_at_part(w, s, address, std::min(size, room), now, flags, pc);
  for (std::size_t done = room; done < size; done += kPartMask + 1)
    [[unlikely]] look_at_part(w, s, address + done, std::min(size - done, kPartMask + 1), now,
                              flags, pc);
  return &s.times;
}

/// look() for a value of kSize bytes, whose address is a multiple of that or, from 8 bytes on,
/// of 8.
template <unsigned kSize>
[[gnu::always_inline]] inline void look_aligned(const void* pointer, std::uint8_t flags,
                                                const void* pc) {
  check_alignment<std::min(kSize, 8U)>(pointer, kSize, flags, pc);
  look(pointer, kSize, flags, pc);
}

/// look() for the most frequent access: one word of static shared memory is read that nobody wrote
/// since the last barrier.
template <unsigned kSize>
[[gnu::always_inline]] inline void look_quickly(const void* pointer, const void* pc) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (progress.watching && !listening(event_kind::access)) [[likely]] {
    const worker& w = *progress.self;
    if (const watch_state* const opened = open_watch_of(w)) [[likely]] {
      const watch_state& s = *opened;
      const std::uintptr_t at = address - s.static_watch.low;
      if (at < s.static_bytes && at % kSize == 0) {
        if (s.built_in[0].has(address)) return;
        cell& c = s.static_watch.cells[at / 4];
        const std::uint32_t epoch = w.block_epoch;
        if (c.write.epoch != epoch && s.static_watch.have(c, address, kSize)) [[likely]] {
          const std::uint32_t thread = progress.position->linear;
          access now;
          now.place = place_of(pc);
          now.block = w.serial;
          now.epoch = epoch;
          now.time = clock_now.load(std::memory_order_relaxed);
          now.warp_epoch = static_cast<std::uint16_t>(w.warp_barriers[thread / 32]);
          now.who = static_cast<std::uint16_t>(thread | ((1U << kSize) - 1U) << (10 + at % 4));
          const access& first = c.reader[0];
          c.reader[first.epoch == epoch && first.thread() != thread ? 1 : 0] = now;
          return;
        }
      }
    }
  }
  look_aligned<kSize>(pointer, 0, pc);
}

/// Notes the time after an atomic, too.
struct end_of_atomic {
  thread_times* times;
  int order;
  ~end_of_atomic() {
    if (times == nullptr) return;
    note_atomic_done(*times, *progress.self, progress.position->linear, order,
                     scope_of_this_thread(), clock_now.load());
  }
};

void look_at_fence(int order, const void* pc) {
  if (!progress.watching) return;
  worker& w = *progress.self;
  const std::uint32_t me = progress.position->linear;
  const event_scope scope = scope_of_this_thread();
  note_fence(times_of(state_of(w).times, w), me, order, scope);
  if (listening(event_kind::fence)) [[unlikely]] {
    const engine_work work(w);
    publish(event_kind::fence, &observer::fenced, {scope, w.serial, me, pc});
  }
}

}  // namespace
}  // namespace check

void begin_block_scope() {
  if (progress.watching) check::chosen = {check::this_thread(), event_scope::block};
}
void begin_system_scope() {
  if (progress.watching) check::chosen = {check::this_thread(), event_scope::system};
}
void end_scope() { check::chosen.who = check::kNobody; }

void forget_guards() {
  if (!progress.watching) return;
  const worker& w = *progress.self;
  const check::watch_state& s = check::state_of(*progress.self);
#ifdef __aarch64__  // where a guard is an int
  constexpr unsigned kGuard = 0x8000U | 15U << 10;
#else
  constexpr unsigned kGuard = 0x8000U | 1U << 10;  // its first byte is written, and no other one
#endif
  for (check::cell* c = s.static_watch.cells; c != s.static_watch.cells + s.static_bytes / 4; ++c)
    if (c->write.block == w.serial && c->write.epoch == w.block_epoch &&
        c->write.who == (kGuard | progress.position->linear))
      c->write = {};
}

void note_shared(const unsigned& born_in, const shared_variable* variables, unsigned count,
                 const char* names) {
  if (!progress.watching) return;
  worker& w = *progress.self;
  check::watch_state& s = check::state_of(w);
  for (unsigned i = 0; i < count; ++i)
    add_static(s.static_watch, {reinterpret_cast<std::uintptr_t>(variables[i].address),
                                variables[i].bytes, &born_in, names, i});
}

void note_local_array(const local_array& array) {
  if (!progress.watching) return;
  worker& w = *progress.self;
  check::watch_state& s = check::state_of(w);
  const engine_work work(w);
  if (s.locals == nullptr) s.locals = new check::local_arrays;
  s.locals->add(w.serial, progress.position->linear, array);
}

}  // namespace cpu_device

/// Functions that are not watched, and say what they access.
extern "C" void cpu_device_look_at_call(const void* address, std::size_t bytes, int write, int way,
                                        const char* file, int line) {
  namespace check = cpu_device::check;
  if (!cpu_device::progress.watching) return;
  if (way == cpu_device::kThroughTexture && cpu_device::listening(cpu_device::event_kind::fetch))
      [[unlikely]]
    check::publish_fetch(address, bytes);
  const bool from_now_on = way == cpu_device::kFromNowOn;
  check::look(
      address, bytes,
      static_cast<std::uint8_t>((write != 0 ? check::kWrite : 0) |
                                (way == cpu_device::kThroughTexture ? check::kTexture
                                 : way == cpu_device::kReadOnly     ? check::kTexture | check::kLdg
                                 : way == cpu_device::kOfCopyEngine || from_now_on ? check::kBulk
                                                                                   : 0)),
      check::instruction_at(check::place_of_call(file, line) |
                            (from_now_on ? check::kUnderWay : 0U)));
}

// --- what the compiler calls --------------------------------------------------------------------

using cpu_device::check::check_alignment;
using cpu_device::check::end_of_atomic;
using cpu_device::check::kAtomic;
using cpu_device::check::kRange;
using cpu_device::check::kVolatile;
using cpu_device::check::kWrite;
using cpu_device::check::look;
using cpu_device::check::look_aligned;
using cpu_device::check::look_quickly;

#define CPU_DEVICE_LOOK(pointer, size, flags) \
  look(pointer, size, flags, __builtin_return_address(0))

extern "C" {

// Each watched file calls it, before any static object of the program's, which may count or
// allocate.
void __tsan_init() { cpu_device::accesses_are_published = true; }
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

#define CPU_DEVICE_READ_1(p) look_quickly<1>(p, __builtin_return_address(0))
#define CPU_DEVICE_READ_2(p) look_quickly<2>(p, __builtin_return_address(0))
#define CPU_DEVICE_READ_4(p) look_quickly<4>(p, __builtin_return_address(0))
#define CPU_DEVICE_LOOK_ALIGNED(p, size, flags) \
  look_aligned<size>(p, flags, __builtin_return_address(0))
#define CPU_DEVICE_READ_8(p) CPU_DEVICE_LOOK_ALIGNED(p, 8, 0)
#define CPU_DEVICE_READ_16(p) CPU_DEVICE_LOOK_ALIGNED(p, 16, 0)
#define CPU_DEVICE_WRITE(p, size) CPU_DEVICE_LOOK_ALIGNED(p, size, kWrite)
#define CPU_DEVICE_ACCESS(size)                                                               \
  void __tsan_read##size(void* p) { CPU_DEVICE_READ_##size(p); }                              \
  void __tsan_write##size(void* p) { CPU_DEVICE_WRITE(p, size); }                             \
  void __tsan_read_write##size(void* p) { CPU_DEVICE_WRITE(p, size); }                        \
  void __tsan_unaligned_read##size(void* p) { CPU_DEVICE_LOOK(p, size, 0); }                  \
  void __tsan_unaligned_write##size(void* p) { CPU_DEVICE_LOOK(p, size, kWrite); }            \
  void __tsan_unaligned_read_write##size(void* p) { CPU_DEVICE_LOOK(p, size, kWrite); }       \
  void __tsan_volatile_read##size(void* p) { CPU_DEVICE_LOOK_ALIGNED(p, size, kVolatile); }   \
  void __tsan_volatile_write##size(void* p) {                                                 \
    CPU_DEVICE_LOOK_ALIGNED(p, size, kVolatile | kWrite);                                     \
  }                                                                                           \
  void __tsan_unaligned_volatile_read##size(void* p) { CPU_DEVICE_LOOK(p, size, kVolatile); } \
  void __tsan_unaligned_volatile_write##size(void* p) {                                       \
    CPU_DEVICE_LOOK(p, size, kVolatile | kWrite);                                             \
  }
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
#define CPU_DEVICE_LOOK_ATOMIC(pointer, T, flags, order)                              \
  check_alignment<sizeof(T)>(pointer, sizeof(T), flags, __builtin_return_address(0)); \
  const end_of_atomic end {                                                           \
    look(pointer, sizeof(T), flags, __builtin_return_address(0), order), order        \
  }
#define CPU_DEVICE_ATOMICS(bits, T)                                                                \
  T __tsan_atomic##bits##_load(const volatile T* p, int order) {                                   \
    CPU_DEVICE_LOOK_ATOMIC(const_cast<const T*>(p), T, kAtomic, order);                            \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                   \
  }                                                                                                \
  void __tsan_atomic##bits##_store(volatile T* p, T v, int order) {                                \
    CPU_DEVICE_LOOK_ATOMIC(const_cast<T*>(p), T, kAtomic | kWrite, order);                         \
    __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                      \
  }                                                                                                \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile T* p, T* expected, T v, int order,    \
                                                    int) {                                         \
    CPU_DEVICE_LOOK_ATOMIC(const_cast<T*>(p), T, kAtomic | kWrite, order);                         \
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }                                                                                                \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile T* p, T* expected, T v, int order,      \
                                                  int) {                                           \
    CPU_DEVICE_LOOK_ATOMIC(const_cast<T*>(p), T, kAtomic | kWrite, order);                         \
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }                                                                                                \
  T __tsan_atomic##bits##_compare_exchange_val(volatile T* p, T expected, T v, int order, int) {   \
    CPU_DEVICE_LOOK_ATOMIC(const_cast<T*>(p), T, kAtomic | kWrite, order);                         \
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
#define CPU_DEVICE_UPDATE(bits, T, name, builtin)                          \
  T __tsan_atomic##bits##_##name(volatile T* p, T v, int order) {          \
    CPU_DEVICE_LOOK_ATOMIC(const_cast<T*>(p), T, kAtomic | kWrite, order); \
    return builtin(p, v, __ATOMIC_SEQ_CST);                                \
  }
CPU_DEVICE_ATOMICS(8, std::uint8_t)
CPU_DEVICE_ATOMICS(16, std::uint16_t)
CPU_DEVICE_ATOMICS(32, std::uint32_t)
CPU_DEVICE_ATOMICS(64, std::uint64_t)

void __tsan_atomic_thread_fence(int order) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  cpu_device::check::look_at_fence(order, __builtin_return_address(0));
}
void __tsan_atomic_signal_fence(int) {}

}  // extern "C"
