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
//   - both threads used atomics in between (a lock, a flag): the earlier one after its access, the
//     later one before its own. That is generous, and keeps locks silent.
// Two atomic accesses never race.
//
// This file is linked only into programs whose kernels were compiled that way.

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "engine.hpp"
#include "memory.hpp"
#include "report.hpp"

namespace cpu_device {
namespace {

constexpr std::uint8_t kWrite = 1, kAtomic = 2;

/// One access: who, when and from where.
struct access {
  std::uint32_t place = 0;  // distance of the instruction from the program's begin
  std::uint32_t block = 0;  // serial number of the block; 0: nobody
  std::uint32_t time = 0;   // of the clock of atomics
  std::uint16_t thread = 0;
  std::uint16_t block_epoch = 0;
  std::uint16_t warp_epoch = 0;
  std::uint8_t bytes = 0;  // which bytes of the word, a bit each
  std::uint8_t flags = 0;
};

struct cell {
  access write;
  access reader[2];
  std::atomic<std::uint8_t> locked{0};
};

// Cells of 64 KiB of memory make a page; pages are found through two tables, as in an MMU.
constexpr unsigned kPageBits = 16, kMiddleBits = 14, kTopBits = 17;
constexpr std::size_t kCellsPerPage = (std::size_t{1} << kPageBits) / 4;
struct middle_table {
  std::atomic<cell*> page[std::size_t{1} << kMiddleBits];
};
std::atomic<middle_table*> top_table[std::size_t{1} << kTopBits];

template <class T>
T* map_zeroed(std::size_t bytes) {
  void* map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) {
    std::fprintf(stderr, "CPU device: no memory left to watch accesses. Try a smaller size.\n");
    std::abort();
  }
  return static_cast<T*>(map);
}

template <class T>
T* find_or_map(std::atomic<T*>& slot, std::size_t bytes) {
  T* there = slot.load(std::memory_order_acquire);
  if (there != nullptr) return there;
  T* mine = map_zeroed<T>(bytes);
  if (slot.compare_exchange_strong(there, mine, std::memory_order_acq_rel)) return mine;
  munmap(mine, bytes);
  return there;
}

/// From now on accesses to this memory are looked at.
void watch(std::uintptr_t begin, std::uintptr_t end) {
  constexpr std::uintptr_t kPageBytes = std::uintptr_t{1} << kPageBits;
  for (std::uintptr_t page = begin & ~(kPageBytes - 1); page < end; page += kPageBytes) {
    const std::uintptr_t top = page >> (kPageBits + kMiddleBits);
    if (top >= std::size_t{1} << kTopBits) return;
    middle_table* middle = find_or_map(top_table[top], sizeof(middle_table));
    find_or_map(middle->page[(page >> kPageBits) & ((1U << kMiddleBits) - 1)],
                kCellsPerPage * sizeof(cell));
  }
}

/// Null for memory that is not watched: the heap, which belongs to the host. (Templates of the
/// standard library that kernels' files instantiate are watched functions, too, and the engine
/// may be linked with them.)
cell* cells_of(std::uintptr_t address) {
  const std::uintptr_t top = address >> (kPageBits + kMiddleBits);
  if (top >= std::size_t{1} << kTopBits) return nullptr;
  middle_table* middle = top_table[top].load(std::memory_order_acquire);
  if (middle == nullptr) return nullptr;
  cell* page = middle->page[(address >> kPageBits) & ((1U << kMiddleBits) - 1)].load(
      std::memory_order_acquire);
  return page == nullptr ? nullptr : page + ((address >> 2) & (kCellsPerPage - 1));
}

/// When each thread last used an atomic; the clock counts atomics.
std::atomic<std::uint32_t> atomic_clock{1};
struct thread_state {
  std::uint32_t last_atomic[kMaxThreads] = {};
  std::uint32_t block = 0;  // whose times these are
  std::uint32_t block_last_atomic = 0;
};
thread_local thread_state tls_state;

/// The last atomic of each block of the running launch, by a hash: good enough for an excuse.
std::atomic<std::uint32_t> block_atomic[std::size_t{1} << 16];
std::atomic<std::uint32_t>& block_atomic_of(std::uint32_t block) {
  return block_atomic[block & 0xFFFF];
}

struct program_image {
  std::uintptr_t begin = 0;
  std::size_t tls_bytes = 0;
};
const program_image& image() {
  static const program_image found = [] {
    program_image i;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* out) {
          auto& result = *static_cast<program_image*>(out);
          result.begin = info->dlpi_addr;
          for (int h = 0; h < info->dlpi_phnum; ++h)
            if (info->dlpi_phdr[h].p_type == PT_TLS)
              result.tls_bytes = info->dlpi_phdr[h].p_memsz + info->dlpi_phdr[h].p_align;
          return 1;  // the first one is the program
        },
        &i);
    return i;
  }();
  return found;
}

/// The program's own variables: __device__ and __constant__ ones are among them.
[[maybe_unused]] const bool program_is_watched = [] {
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void*) {
        for (int h = 0; h < info->dlpi_phnum; ++h) {
          const auto& part = info->dlpi_phdr[h];
          if (part.p_type == PT_LOAD && (part.p_flags & PF_W) != 0)
            watch(info->dlpi_addr + part.p_vaddr, info->dlpi_addr + part.p_vaddr + part.p_memsz);
        }
        return 1;
      },
      nullptr);
  return true;
}();

/// What the engine itself does while it writes a report is none of the kernel's accesses.
thread_local bool tls_reporting = false;

bool in_static_shared(std::uintptr_t address) {
  const auto thread_pointer = reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
#if defined(__x86_64__)
  return address < thread_pointer && address >= thread_pointer - image().tls_bytes;
#else
  return address >= thread_pointer && address < thread_pointer + image().tls_bytes + 64;
#endif
}

bool is_builtin_variable(std::uintptr_t address) {
  const auto within = [&](const void* p, std::size_t n) {
    return address - reinterpret_cast<std::uintptr_t>(p) < n;
  };
  return within(&threadIdx, sizeof threadIdx) || within(&blockIdx, sizeof blockIdx) ||
         within(&blockDim, sizeof blockDim) || within(&gridDim, sizeof gridDim) ||
         within(&progress, sizeof progress);
}

// --- reports ------------------------------------------------------------------------------------

std::string thread_name(std::uint32_t linear, dim3 block) {
  return "thread (" + std::to_string(linear % block.x) + "," +
         std::to_string(linear / block.x % block.y) + "," +
         std::to_string(linear / block.x / block.y) + ")";
}

std::string access_text(const access& a, const running_launch& launch, bool with_block) {
  std::string text = thread_name(a.thread, launch.block);
  if (with_block) {
    const std::uint64_t b = a.block - launch.first_serial;
    const std::uint64_t gx = launch.grid.x, gy = launch.grid.y;
    text += " of block (" + std::to_string(b % gx) + "," + std::to_string(b / gx % gy) + "," +
            std::to_string(b / gx / gy) + ")";
  }
  text += (a.flags & kAtomic) != 0  ? " updates it atomically"
          : (a.flags & kWrite) != 0 ? " writes"
                                    : " reads";
  const auto* pc = reinterpret_cast<const void*>(image().begin + a.place);
  const std::string where = source_place(pc);
  return text + (where.empty() ? "" : " at " + where);
}

std::mutex race_mutex;

void report_race(worker& w, const access& now, const access& before, bool shared) {
  const std::lock_guard lock(race_mutex);
  // Each pair of places speaks once: a race seldom comes alone.
  static auto* spoken = new std::set<std::pair<std::uint32_t, std::uint32_t>>;
  if (!spoken->insert(std::minmax(now.place, before.place)).second) return;
  const running_launch& launch = *w.launch;
  const bool same_block = now.block == before.block;
  std::string text = std::string("race on ") + (shared ? "shared" : "global") + " memory in " +
                     describe_block(w) + ":\n  " + access_text(now, launch, !same_block) + "\n  " +
                     access_text(before, launch, !same_block) + " (the same word)\n  ";
  if (same_block)
    text +=
        "Nothing orders the two, so which comes first is luck. Try: a __syncthreads() between "
        "them that every thread reaches, or an atomic function.";
  else
    text +=
        "Blocks run in any order and at the same time, and no barrier joins them. Try: an "
        "atomic function, a place of its own for each block, or a second kernel.";
  report(text);
}

bool ordered(const access& before, const access& now, bool shared, const running_launch& launch) {
  if (before.block == 0 || before.block < launch.first_serial) return true;
  const thread_state& mine = tls_state;
  if (before.block != now.block) {
    if (launch.meeting && before.time < launch.meeting->checked_at) return true;  // a grid barrier
    if (shared) return true;  // another block's use of the same shared memory
    return block_atomic_of(before.block).load(std::memory_order_relaxed) > before.time &&
           mine.block_last_atomic > before.time;
  }
  if (before.thread == now.thread || before.block_epoch != now.block_epoch) return true;
  if (before.thread / 32 == now.thread / 32 && before.warp_epoch != now.warp_epoch) return true;
  return mine.last_atomic[before.thread] > before.time &&
         mine.last_atomic[now.thread] > before.time;
}

void look_at_word(worker& w, std::uintptr_t address, std::uint8_t bytes, const access& pattern,
                  bool shared) {
  cell* c = cells_of(address);
  if (c == nullptr && shared) {
    watch(address, address + 1);
    c = cells_of(address);
  }
  if (c == nullptr) return;
  access now = pattern;
  now.bytes = bytes;
  // Shared memory belongs to this OS thread; global cells are seen by all workers.
  if (!shared)
    while (c->locked.exchange(1, std::memory_order_acquire) != 0) {
    }
  const running_launch& launch = *w.launch;
  access culprit;
  const auto compare = [&](const access& before) {
    if ((before.bytes & now.bytes) == 0) return;
    if ((before.flags & now.flags & kAtomic) != 0) return;
    if (!ordered(before, now, shared, launch)) culprit = before;
  };
  compare(c->write);
  if ((now.flags & kWrite) != 0) {
    compare(c->reader[0]);
    compare(c->reader[1]);
    c->write = now;
  } else {
    // Keep two different threads; the place of an older one is free.
    access& first = c->reader[0];
    if (first.block == now.block && first.thread != now.thread &&
        first.block_epoch == now.block_epoch)
      c->reader[1] = now;
    else
      first = now;
  }
  if (!shared) c->locked.store(0, std::memory_order_release);
  if (culprit.block != 0) {
    tls_reporting = true;
    report_race(w, now, culprit, shared);
    tls_reporting = false;
  }
}

void look(const void* pointer, std::size_t size, std::uint8_t flags, const void* pc) {
  worker* w = current_worker();
  if (w == nullptr || !w->in_kernel.load(std::memory_order_relaxed) || tls_reporting) return;
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const bool statically = in_static_shared(address);
  if (statically && is_builtin_variable(address)) return;
  const fiber* stack = w->current;
  // Asked second: the C library keeps an OS thread's static variables at the end of its stack.
  if (!statically && address - reinterpret_cast<std::uintptr_t>(stack->low) <
                         static_cast<std::uintptr_t>(stack->top - stack->low) + 4096)
    return;  // the thread's own variables
  const bool shared = statically || (address >= reinterpret_cast<std::uintptr_t>(w->shared_low) &&
                                     address < reinterpret_cast<std::uintptr_t>(w->shared_end));
  access now;
  now.place = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(pc) - image().begin);
  now.block = w->serial;
  now.thread = static_cast<std::uint16_t>(progress.position->linear);
  now.block_epoch = static_cast<std::uint16_t>(w->block_epoch);
  now.warp_epoch = static_cast<std::uint16_t>(w->warp_epoch[progress.position->linear / 32]);
  now.flags = flags;

  thread_state& state = tls_state;
  if (state.block != now.block) {
    state.block = now.block;
    state.block_last_atomic = 0;
    std::memset(state.last_atomic, 0, sizeof state.last_atomic);
    block_atomic_of(now.block).store(0, std::memory_order_relaxed);
  }
  if ((flags & kAtomic) != 0) {
    const std::uint32_t time = atomic_clock.fetch_add(1, std::memory_order_relaxed) + 1;
    state.last_atomic[now.thread] = state.block_last_atomic = time;
    block_atomic_of(now.block).store(time, std::memory_order_relaxed);
  }
  now.time = atomic_clock.load(std::memory_order_relaxed);

  std::uintptr_t at = address;
  const std::uintptr_t end = address + size;
  while (at < end) {
    const std::uintptr_t word_end = (at | 3) + 1;
    const std::uintptr_t part_end = std::min(end, word_end);
    const auto mask = static_cast<std::uint8_t>(((1U << (part_end - at)) - 1U) << (at & 3));
    look_at_word(*w, at, mask, now, shared);
    at = part_end;
  }
}

/// Notes the time after an atomic, too. Between the look at it and the atomic itself another worker
/// may have released what this one then acquires, later than the time that the look took.
struct end_of_atomic {
  ~end_of_atomic() {
    const worker* w = current_worker();
    if (w == nullptr || !w->in_kernel.load(std::memory_order_relaxed)) return;
    thread_state& state = tls_state;
    if (state.block != w->serial) return;
    state.last_atomic[progress.position->linear] = state.block_last_atomic =
        atomic_clock.load(std::memory_order_relaxed);
  }
};

}  // namespace
}  // namespace cpu_device

// --- what the compiler calls --------------------------------------------------------------------

#define CPU_DEVICE_LOOK(pointer, size, flags) \
  cpu_device::look(pointer, size, flags, __builtin_return_address(0))

extern "C" {

void cpu_device_watch_memory(const void* begin, std::size_t bytes) {
  const auto at = reinterpret_cast<std::uintptr_t>(begin);
  cpu_device::watch(at, at + bytes);
}

std::uint32_t cpu_device_tick() { return cpu_device::atomic_clock.fetch_add(1) + 1; }

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

#define CPU_DEVICE_ACCESS(size)                                                                \
  void __tsan_read##size(void* p) { CPU_DEVICE_LOOK(p, size, 0); }                             \
  void __tsan_write##size(void* p) { CPU_DEVICE_LOOK(p, size, cpu_device::kWrite); }           \
  void __tsan_read_write##size(void* p) { CPU_DEVICE_LOOK(p, size, cpu_device::kWrite); }      \
  void __tsan_unaligned_read##size(void* p) { CPU_DEVICE_LOOK(p, size, 0); }                   \
  void __tsan_unaligned_write##size(void* p) { CPU_DEVICE_LOOK(p, size, cpu_device::kWrite); } \
  void __tsan_unaligned_read_write##size(void* p) {                                            \
    CPU_DEVICE_LOOK(p, size, cpu_device::kWrite);                                              \
  }                                                                                            \
  void __tsan_volatile_read##size(void* p) { CPU_DEVICE_LOOK(p, size, 0); }                    \
  void __tsan_volatile_write##size(void* p) { CPU_DEVICE_LOOK(p, size, cpu_device::kWrite); }
CPU_DEVICE_ACCESS(1)
CPU_DEVICE_ACCESS(2)
CPU_DEVICE_ACCESS(4)
CPU_DEVICE_ACCESS(8)
CPU_DEVICE_ACCESS(16)

void __tsan_read_range(void* p, std::size_t n) { CPU_DEVICE_LOOK(p, n, 0); }
void __tsan_write_range(void* p, std::size_t n) { CPU_DEVICE_LOOK(p, n, cpu_device::kWrite); }
void* __tsan_memcpy(void* to, const void* from, std::size_t n) {
  CPU_DEVICE_LOOK(from, n, 0);
  CPU_DEVICE_LOOK(to, n, cpu_device::kWrite);
  return std::memcpy(to, from, n);
}
void* __tsan_memmove(void* to, const void* from, std::size_t n) {
  CPU_DEVICE_LOOK(from, n, 0);
  CPU_DEVICE_LOOK(to, n, cpu_device::kWrite);
  return std::memmove(to, from, n);
}
void* __tsan_memset(void* to, int value, std::size_t n) {
  CPU_DEVICE_LOOK(to, n, cpu_device::kWrite);
  return std::memset(to, value, n);
}

// Atomics are done here, in the strongest order, whatever the program asked for.
#define CPU_DEVICE_LOOK_ATOMIC(pointer, size, flags) \
  CPU_DEVICE_LOOK(pointer, size, flags);             \
  const cpu_device::end_of_atomic end
#define CPU_DEVICE_ATOMICS(bits, T)                                                                \
  T __tsan_atomic##bits##_load(const volatile T* p, int) {                                         \
    CPU_DEVICE_LOOK_ATOMIC(const_cast<const T*>(p), sizeof(T), cpu_device::kAtomic);               \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                   \
  }                                                                                                \
  void __tsan_atomic##bits##_store(volatile T* p, T v, int) {                                      \
    CPU_DEVICE_LOOK_ATOMIC(const_cast<T*>(p), sizeof(T),                                           \
                           cpu_device::kAtomic | cpu_device::kWrite);                              \
    __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                      \
  }                                                                                                \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile T* p, T* expected, T v, int, int) {   \
    CPU_DEVICE_LOOK_ATOMIC(const_cast<T*>(p), sizeof(T),                                           \
                           cpu_device::kAtomic | cpu_device::kWrite);                              \
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }                                                                                                \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile T* p, T* expected, T v, int, int) {     \
    CPU_DEVICE_LOOK_ATOMIC(const_cast<T*>(p), sizeof(T),                                           \
                           cpu_device::kAtomic | cpu_device::kWrite);                              \
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }                                                                                                \
  T __tsan_atomic##bits##_compare_exchange_val(volatile T* p, T expected, T v, int, int) {         \
    CPU_DEVICE_LOOK_ATOMIC(const_cast<T*>(p), sizeof(T),                                           \
                           cpu_device::kAtomic | cpu_device::kWrite);                              \
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
#define CPU_DEVICE_UPDATE(bits, T, name, builtin)                     \
  T __tsan_atomic##bits##_##name(volatile T* p, T v, int) {           \
    CPU_DEVICE_LOOK_ATOMIC(const_cast<T*>(p), sizeof(T),              \
                           cpu_device::kAtomic | cpu_device::kWrite); \
    return builtin(p, v, __ATOMIC_SEQ_CST);                           \
  }
CPU_DEVICE_ATOMICS(8, std::uint8_t)
CPU_DEVICE_ATOMICS(16, std::uint16_t)
CPU_DEVICE_ATOMICS(32, std::uint32_t)
CPU_DEVICE_ATOMICS(64, std::uint64_t)

void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) {}

}  // extern "C"
