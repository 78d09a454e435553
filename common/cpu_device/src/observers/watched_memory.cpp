// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The check build: which memory kernels may use, and where the cells of its words are.

#include "observers/watched_memory.hpp"

#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "base/events.hpp"
#include "cpu_device/kernel_functions.h"
#include "observers/race_check.hpp"

namespace cpu_device::check {

constinit std::uintptr_t program_at = 0;

namespace {

// Pages are found through two tables, as in an MMU.
constexpr unsigned kMiddleBits = 14, kTopBits = 17;
struct middle_table {
  page pages[std::size_t{1} << kMiddleBits];
};
std::atomic<middle_table*> top_table[std::size_t{1} << kTopBits];

void* map_bytes(std::size_t bytes) {
  void* map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) {
    std::fprintf(stderr, "CPU device: no memory left to watch accesses. Try a smaller size.\n");
    std::abort();
  }
  return map;
}

template <class T>
T* find_or_map(std::atomic<T*>& slot, std::size_t bytes) {
  T* there = slot.load(std::memory_order_acquire);
  if (there != nullptr) return there;
  T* mine = static_cast<T*>(map_bytes(bytes));
  if (slot.compare_exchange_strong(there, mine, std::memory_order_acq_rel)) return mine;
  munmap(mine, bytes);
  return there;
}

/// The cells of pages that are not watched any more, all zero. They are never unmapped: a kernel
/// that runs on in freed memory may still look at them.
class unused_cells {
 public:
  static void give(cell* cells) {
    madvise(cells, kCellsPerPage * sizeof(cell), MADV_DONTNEED);
    const std::lock_guard lock(mutex());
    all().push_back(cells);
  }
  static cell* take() {
    {
      const std::lock_guard lock(mutex());
      if (!all().empty()) {
        cell* cells = all().back();
        all().pop_back();
        return cells;
      }
    }
    return static_cast<cell*>(map_bytes(kCellsPerPage * sizeof(cell)));
  }

 private:
  static std::mutex& mutex() {
    static auto* one = new std::mutex;  // needed until the end
    return *one;
  }
  static std::vector<cell*>& all() {
    static auto* one = new std::vector<cell*>;
    return *one;
  }
};

/// Calls visit(page, bits of the parts) for all parts that [begin, end) touches.
template <class Visit>
void for_each_page(std::uintptr_t begin, std::uintptr_t end, Visit visit) {
  constexpr std::uintptr_t kPageBytes = std::uintptr_t{1} << kPageBits;
  for (std::uintptr_t at = begin & ~(kPageBytes - 1); at < end; at += kPageBytes) {
    const std::uintptr_t top = at >> (kPageBits + kMiddleBits);
    if (top >= std::size_t{1} << kTopBits) return;
    middle_table* middle = find_or_map(top_table[top], sizeof(middle_table));
    const std::uintptr_t first = std::max(begin, at), last = std::min(end, at + kPageBytes) - 1;
    unsigned parts = 0;
    for (std::uintptr_t p = first >> kPartBits; p <= last >> kPartBits; ++p)
      parts |= 1U << (p & 15);
    visit(middle->pages[(at >> kPageBits) & ((1U << kMiddleBits) - 1)],
          static_cast<std::uint16_t>(parts));
  }
}

/// `exact`: nothing else that kernels may use is in its first and last part.
void watch(std::uintptr_t begin, std::uintptr_t end, bool device_only, bool exact) {
  for_each_page(begin, end, [&](page& p, std::uint16_t parts) {
    std::uint16_t cut = 0;  // parts of which it has only some bytes
    if (exact) {
      const auto note = [&](std::uintptr_t edge) {
        const std::uintptr_t low = edge & ~kPartMask, high = low + kPartMask + 1;
        if (find_page(edge) != &p || (low >= begin && high <= end)) return;
        const unsigned part = part_number(edge);
        cut = static_cast<std::uint16_t>(cut | part_of(edge));
        p.begin[part] = static_cast<std::uint16_t>(std::max(low, begin) - low);
        p.end[part] = static_cast<std::uint16_t>(std::min(high, end) - low);
      };
      note(begin);
      note(end - 1);
    }
    if (device_only) p.device.fetch_or(parts, std::memory_order_relaxed);
    p.whole.fetch_or(static_cast<std::uint16_t>(parts & ~cut), std::memory_order_relaxed);
    p.watched.fetch_or(parts, std::memory_order_release);
  });
}

/// Cells of a page without watched memory are not needed any more.
void unwatch(std::uintptr_t begin, std::uintptr_t end) {
  for_each_page(begin, end, [&](page& p, std::uint16_t parts) {
    const auto others = static_cast<std::uint16_t>(~parts);
    p.device.fetch_and(others, std::memory_order_relaxed);
    p.whole.fetch_and(others, std::memory_order_relaxed);
    const std::uint16_t before = p.watched.fetch_and(others, std::memory_order_relaxed);
    if (before != 0 && (before & others) == 0)
      if (cell* cells = p.cells.exchange(nullptr, std::memory_order_acq_rel); cells != nullptr)
        unused_cells::give(cells);
  });
}

constinit std::size_t tls_bytes = 0;

/// The program's own variables are watched: __device__ and __constant__ ones are among them. Its
/// constants (string literals, constexpr tables) and whatever libraries have are not.
void watch_program() {
  bool first = true;  // the first one is the program
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* raw) {
        bool& is_program = *static_cast<bool*>(raw);
        if (is_program) program_at = info->dlpi_addr;
        for (int h = 0; h < info->dlpi_phnum; ++h) {
          const auto& part = info->dlpi_phdr[h];
          const std::uintptr_t begin = info->dlpi_addr + part.p_vaddr;
          if (is_program && part.p_type == PT_TLS) tls_bytes = part.p_memsz + part.p_align;
          if (part.p_type != PT_LOAD || part.p_memsz == 0) continue;
          if (is_program && (part.p_flags & PF_W) != 0)
            watch(begin, begin + part.p_memsz, false, false);
          else
            ignore(begin, begin + part.p_memsz);
        }
        is_program = false;
        return 0;
      },
      &first);
}

class memory_watcher final : public observer {
  void allocated(const allocation_event& e) override {
    const auto begin = reinterpret_cast<std::uintptr_t>(e.address);
    if (e.bytes != 0)
      watch(begin, begin + e.bytes, e.kind == memory_kind::device,
            e.kind != memory_kind::registered);  // what the host has beside that memory is near
  }
  void freed(const allocation_event& e) override {
    const auto begin = reinterpret_cast<std::uintptr_t>(e.address);
    unwatch(begin, begin + e.bytes);
  }
};

/// Before any static object of the program's, which may allocate; until the very end.
__attribute__((constructor(101))) void begin_watching() {
  watch_program();
  add_observer(*new memory_watcher, static_cast<event_set>(event_kind::allocation));
}

}  // namespace

page* find_page(std::uintptr_t address) {
  const std::uintptr_t top = address >> (kPageBits + kMiddleBits);
  if (top >= std::size_t{1} << kTopBits) return nullptr;
  middle_table* middle = top_table[top].load(std::memory_order_acquire);
  if (middle == nullptr) return nullptr;
  return &middle->pages[(address >> kPageBits) & ((1U << kMiddleBits) - 1)];
}

cell* make_cells(page& p) {
  cell* mine = unused_cells::take();
  cell* there = nullptr;
  if (p.cells.compare_exchange_strong(there, mine, std::memory_order_acq_rel)) return mine;
  unused_cells::give(mine);
  return there;
}

void ignore(std::uintptr_t begin, std::uintptr_t end) {
  for_each_page(begin, end, [](page& p, std::uint16_t parts) {
    p.ignored.fetch_or(parts, std::memory_order_relaxed);
  });
}

cell* map_cells(std::size_t bytes) {
  return static_cast<cell*>(map_bytes((bytes / 4 + 1) * sizeof(cell)));
}
void unmap_cells(cell* cells, std::size_t bytes) {
  if (cells != nullptr) munmap(cells, (bytes / 4 + 1) * sizeof(cell));
}

std::size_t program_tls_bytes() { return tls_bytes; }

}  // namespace cpu_device::check

// malloc() of programs with watched kernels comes here (kernel_functions.h): what a kernel
// allocates with malloc() or new is the kernel's to use.
extern "C" void* __libc_malloc(std::size_t bytes);
void* cpu_device::kernel_malloc(std::size_t bytes) {
  void* memory = __libc_malloc(bytes);
  if (memory != nullptr && progress.watching) {
    const auto at = reinterpret_cast<std::uintptr_t>(memory);
    check::ignore(at, at + std::max<std::size_t>(bytes, 1));
  }
  return memory;
}
