// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the parts of the check build share: the cells in which accesses are remembered, and the
// texts. Internal to the CPU device; linked only into programs whose kernels are watched.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/engine.hpp"

namespace cpu_device::check {

constexpr std::uint8_t kWrite = 1, kAtomic = 2, kTexture = 4;
constexpr std::uint8_t kRange = 8;     // a structure, which a GPU accesses in parts
constexpr std::uint8_t kAligned = 16;  // of a type whose alignment is its size, or 8 bytes

/// One access: who, when and from where.
struct access {
  std::uint32_t place = 0;  // distance of the instruction from the program's begin
  std::uint32_t block = 0;  // serial number of the block; 0: nobody
  std::uint32_t epoch = 0;  // barriers that its worker had passed: differs between blocks, too
  std::uint32_t time = 0;   // of the clock of atomics and fences
  std::uint16_t warp_epoch = 0;
  std::uint16_t who = 0;  // thread (10 bits), bytes of the word (4), atomic, write

  std::uint32_t thread() const { return who & 1023U; }
  bool atomic() const { return (who & 1U << 14) != 0; }
  bool writes() const { return (who & 1U << 15) != 0; }
};

/// What is remembered of a 4-byte word: its last write, and two of the readers since.
struct alignas(64) cell {
  access write;
  access reader[2];
  std::atomic<std::uint8_t> locked;
};
static_assert(sizeof(cell) == 64, "one line of the cache");

// Cells of 64 KiB of memory make a page, whose 4 KiB parts have a bit each below.
constexpr unsigned kPageBits = 16, kPartBits = 12;
constexpr std::size_t kCellsPerPage = (std::size_t{1} << kPageBits) / 4;
struct page {
  std::atomic<cell*> cells;
  std::atomic<std::uint16_t> watched;  // memory that kernels may use
  std::atomic<std::uint16_t> device;   // of it, what the host may not touch
  std::atomic<std::uint16_t> ignored;  // memory that kernels may use unwatched
};
inline std::uint16_t part_of(std::uintptr_t address) {
  return static_cast<std::uint16_t>(1U << (address >> kPartBits & 15));
}
/// Null for a page with no such part.
page* find_page(std::uintptr_t address);
/// Kernels may use this memory, and accesses to it are not looked at.
void ignore(std::uintptr_t begin, std::uintptr_t end);

/// Cells for `bytes` bytes that one worker alone uses.
cell* map_cells(std::size_t bytes);
void unmap_cells(cell* cells, std::size_t bytes);

/// Where the program lies: places are counted from there.
extern std::uintptr_t program_at;
inline std::uintptr_t program_begin() { return program_at; }
/// The room of the program's thread-local variables, `__shared__` ones among them.
std::size_t program_tls_bytes();

/// A place that stands for a call of a texture function, and the text of any place.
std::uint32_t place_of_call(const char* file, int line);
std::string place_text(std::uint32_t place);

/// Whether two accesses were made by threads that used atomics in between (report's advice).
enum class excuse { none, atomics_without_fences, stale_texture };
void report_race(worker& w, const access& now, const access& before, bool shared, excuse why);

/// A kernel's access to an address that is no multiple of `alignment`: gives the block up. `does`
/// and `what` are as in "reads" "4 bytes", or "uses" "'const struct float4'".
[[noreturn]] void refuse_misaligned(std::uintptr_t address, std::size_t alignment, const char* does,
                                    const char* what, const void* pc);
/// A kernel's access to memory that the table above does not know. Comes back when that is nothing
/// to report (or when the access will fault); otherwise the block is given up.
void look_at_unknown(worker& w, std::uintptr_t address, std::uint8_t flags, const void* pc);
/// Host code's access to memory that only kernels may use.
void report_host_access(std::uintptr_t address, std::uint8_t flags, const void* pc);

/// While it lives, what this worker does is the engine's work, not the kernel's: nothing is
/// watched, and the watchdog waits.
class engine_work {
 public:
  explicit engine_work(worker& w) : worker_(w), watching_(progress.watching) {
    progress.watching = false;
    worker_.writes_report.store(true, std::memory_order_relaxed);
  }
  ~engine_work() {
    worker_.writes_report.store(false, std::memory_order_relaxed);
    progress.watching = watching_;
  }
  engine_work(const engine_work&) = delete;
  engine_work& operator=(const engine_work&) = delete;

 private:
  worker& worker_;
  bool watching_;
};

}  // namespace cpu_device::check
