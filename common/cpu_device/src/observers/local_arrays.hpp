// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Arrays that each thread of a block has for itself, in kernels whose threads wait for each other:
// a thread that reads an element that only others have written, each in its own copy, was written
// by somebody who forgot __shared__. Internal to the CPU device; linked only into programs whose
// kernels are watched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cpu_device/execution.h"

namespace cpu_device::check {

/// The local arrays of the threads of the block that a worker runs.
class local_arrays {
 public:
  /// Thread `thread` of block `block` has a new array.
  void add(std::uint32_t block, std::uint32_t thread, const local_array& array);

  /// An access of the thread to its own stack, after `epoch` barriers of the block. The text of a
  /// finding, or empty.
  std::string look(std::uint32_t block, std::uint32_t thread, std::uintptr_t address,
                   std::size_t size, bool write, std::uint32_t epoch, const void* pc);

 private:
  struct one {
    local_array array;
    std::vector<bool> written;  // by element
    bool written_once;          // any of them
    std::uint32_t epoch;        // of the last write
  };
  /// Whether the copies look as if they were meant to be one: others have written the element, and
  /// no thread has written all that any has. Where one has, each has an array for itself, and some
  /// skip elements, as those at the border of a picture do; unless that one is the only thread that
  /// has written anything, and a barrier came after it.
  bool looks_shared(const local_array& array, std::size_t element, std::uint32_t epoch) const;
  one* find(std::uint32_t thread, std::uintptr_t address);

  std::uint32_t block_ = 0;
  std::vector<std::vector<one>> threads_;
};

}  // namespace cpu_device::check
