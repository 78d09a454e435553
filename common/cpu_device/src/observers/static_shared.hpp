// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Static shared memory: the `__shared__` variables of a worker's blocks, and accesses that are in
// none of them. The compiler looks at the index of a variable that is named; what goes through a
// pointer, such as that of a device function's parameter, is found here by its address. Between two
// variables is a gap (CPU_DEVICE_GAP), so the end of one is not the begin of another. Internal to
// the CPU device; linked only into programs whose kernels are watched.
#pragma once

#include <cstddef>
#include <cstdint>

#include "observers/race_check.hpp"
#include "observers/watched_code.hpp"

namespace cpu_device::check {

struct static_variable {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  const unsigned* born_in =
      nullptr;                  // the block that has declared it, as block_progress numbers it
  const char* names = nullptr;  // "a, b", of which it is number `index`
  unsigned index = 0;

  /// Whether an access of the running block is all in it. (It may have been another kernel's.)
  bool has(std::uintptr_t address, std::size_t size) const {
    const std::uintptr_t offset = address - begin;
    return offset < bytes && size <= bytes - offset && *born_in == progress.block_serial;
  }
};

/// The variables that a worker knows. Zeroes at first; the first is none.
struct static_variables {
  static constexpr std::size_t kMost = 4096;

  std::uintptr_t low;  // of the thread-local variables, whose cells these are
  cell* cells;
  unsigned count;
  static_variable all[kMost];

  /// Whether the access whose first word has the cell `c` is in one variable of the block's.
  bool have(const cell& c, std::uintptr_t address, std::size_t size) const {
    return all[c.variable].has(address, size);
  }
};

/// The worker has come by a declaration, perhaps not for the first time.
void add_static(static_variables& known, const static_variable& variable);

/// An access to the thread-local variables that static_variables::have() does not know of. Comes
/// back if it is nothing to report; otherwise the block is given up.
void look_beside_static(worker& w, static_variables& known, std::uintptr_t address,
                        std::size_t size, std::uint8_t flags, const void* pc);

}  // namespace cpu_device::check
