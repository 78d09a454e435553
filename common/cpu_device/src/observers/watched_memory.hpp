// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The check build: which memory kernels may use, and where the race check keeps what it remembers
// of each word. Internal to the CPU device.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "observers/watched_code.hpp"

namespace cpu_device::check {

struct cell;  // race_check.hpp: what is remembered of a 4-byte word

// Cells of 64 KiB of memory make a page, whose 4 KiB parts have a bit each below.
constexpr unsigned kPageBits = 16, kPartBits = 12;
constexpr unsigned kParts = 1U << (kPageBits - kPartBits);
constexpr std::uintptr_t kPartMask = (std::uintptr_t{1} << kPartBits) - 1;
constexpr std::size_t kCellsPerPage = (std::size_t{1} << kPageBits) / 4;

struct page {
  std::atomic<cell*> cells;            // null until a kernel gets there
  std::atomic<std::uint16_t> watched;  // memory that kernels may use
  std::atomic<std::uint16_t> whole;    // of it, parts that one allocation fills
  std::atomic<std::uint16_t> device;   // of it, what the host may not touch
  std::atomic<std::uint16_t> ignored;  // memory that kernels may use unwatched
  // Of a part that is watched but not whole: where its allocation begins and ends in it.
  std::uint16_t begin[kParts], end[kParts];
};
inline unsigned part_number(std::uintptr_t address) {
  return static_cast<unsigned>(address >> kPartBits & (kParts - 1));
}
inline std::uint16_t part_of(std::uintptr_t address) {
  return static_cast<std::uint16_t>(1U << part_number(address));
}
/// Null for a page with no such part.
page* find_page(std::uintptr_t address);
/// The cells of a page, which has none yet. They take sixteen times the room of the memory, and a
/// limit of a process counts what nobody touches, too.
cell* make_cells(page& p);

/// The pages that a worker used last.
class recent_pages {
 public:
  page* find(std::uintptr_t address) {
    const std::uintptr_t number = address >> kPageBits;
    auto& recent = pages_[number % 8];
    if (recent.number != number) {
      recent.found = find_page(address);
      recent.number = recent.found != nullptr ? number : 0;
    }
    return recent.found;
  }

 private:
  struct {
    std::uintptr_t number;
    page* found;
  } pages_[8];
};

/// Kernels may use this memory, and accesses to it are not looked at.
void ignore(std::uintptr_t begin, std::uintptr_t end);

/// Cells for `bytes` bytes that one worker alone uses.
cell* map_cells(std::size_t bytes);
void unmap_cells(cell* cells, std::size_t bytes);

/// The room of the program's thread-local variables, `__shared__` ones among them.
std::size_t program_tls_bytes();

}  // namespace cpu_device::check
