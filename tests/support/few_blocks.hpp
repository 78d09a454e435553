// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A few blocks of a launch, for sizes at which all of them would take the CPU device too long.
#pragma once

#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#endif

#include <cstdint>

#include "lab/new_memory.hpp"

namespace lab::testing {

/// While one lives, `count` blocks of each launch run, from number `first` on, and the others are
/// left out: so ask only for what is right whatever those do. New memory is 0, so that what they
/// have not stored adds nothing to a sum. (On a GPU all blocks run.)
class few_blocks {
 public:
#ifdef __CPU_DEVICE__
  explicit few_blocks(std::uint64_t first, std::uint64_t count = 1) {
    cpu_device::set_blocks_that_run(first, count);
    fill_new_memory_with(0);
  }
  ~few_blocks() {
    cpu_device::set_blocks_that_run();
    fill_new_memory_with(before_);
  }
#else
  explicit few_blocks(std::uint64_t, std::uint64_t = 1) {}
  ~few_blocks() {}
#endif
  few_blocks(const few_blocks&) = delete;
  few_blocks& operator=(const few_blocks&) = delete;

 private:
#ifdef __CPU_DEVICE__
  static void fill_new_memory_with(unsigned char byte) {
    lab::detail::new_memory_byte = byte;
    cpu_device::fill_new_memory_with(byte);
  }

  const unsigned char before_ = lab::detail::new_memory_byte;
#endif
};

}  // namespace lab::testing
