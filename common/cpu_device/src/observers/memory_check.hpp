// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The memory check: elements past the end of an allocation or an array, memory of the other side,
// local variables of other threads. Internal to the CPU device; linked only into programs whose
// kernels are watched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "observers/watched_code.hpp"
#include "observers/watched_memory.hpp"

namespace cpu_device::check {

/// What the block is given up for: an access to `kind` of memory that no kernel may use.
void describe_unknown(worker& w, std::uint8_t flags, const void* pc, const char* kind,
                      const char* why);
/// "element 1000 of 1000", counted in elements of `size` bytes; "bytes 4001 to 4004 of 4004" where
/// that does not fit.
std::string element_text(std::ptrdiff_t offset, std::size_t size, std::size_t bytes);
/// The same for an access at `offset` of something that has `bytes` bytes.
void describe_elements(worker& w, std::ptrdiff_t offset, std::size_t size, std::size_t bytes,
                       const std::string& of_what, std::uint8_t flags, const void* pc);

/// A kernel's access to bytes that are not all of an allocation; `p` is their page. Comes back when
/// that is nothing to report, or when the access will fault; otherwise the block is given up.
void look_at_unknown(worker& w, const page* p, std::uintptr_t address, std::size_t size,
                     std::uint8_t flags, const void* pc);

/// Of a kernel's access to at most one part of a page of global memory: true if the bytes are
/// watched, so that the race check remembers them.
inline bool is_watched(const page* p, std::uintptr_t address, std::size_t size) {
  const std::uint16_t part = part_of(address);
  if (p != nullptr && (p->whole.load(std::memory_order_relaxed) & part) != 0) [[likely]]
    return true;
  if (p != nullptr && (p->watched.load(std::memory_order_relaxed) & part) != 0) {
    const unsigned number = part_number(address);
    const std::uintptr_t at = address & kPartMask;
    if (at >= p->begin[number] && at + size <= p->end[number]) return true;
  }
  return false;
}

/// An access to a block's dynamic shared memory, or to the room before it.
[[noreturn]] void refuse_shared(worker& w, std::uintptr_t address, std::size_t size,
                                std::uint8_t flags, const void* pc);
inline void check_shared_bounds(worker& w, std::uintptr_t address, std::size_t size,
                                std::uint8_t flags, const void* pc) {
  const std::uintptr_t offset = address - reinterpret_cast<std::uintptr_t>(progress.dynamic_shared);
  if (offset + size > w.launch->shared_bytes || offset > w.launch->shared_bytes) [[unlikely]]
    refuse_shared(w, address, size, flags, pc);
}

/// Host code's access to memory that only kernels may use.
void check_host_access(std::uintptr_t address, std::uint8_t flags, const void* pc);

}  // namespace cpu_device::check
