// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What a CUtensorMap holds, and what the check build is told of a copy. Internal to the CPU device.
#pragma once

#include <cstdint>

#include "cpu_device/tensor_map.h"

namespace cpu_device {

struct worker;

/// Beside the ways of access in execution.h: by the copy engine, from now on until it has copied.
constexpr int kFromNowOn = 4;

struct tensor {
  static constexpr std::uint64_t kMark = 0x70616d726f736e74U;

  std::uint64_t mark;  // kMark: cuTensorMapEncodeTiled() has made it
  char* address;
  std::uint64_t
      stride[5];  // in bytes, from one element to the next; the first is an element's size
  std::uint32_t length[5];
  std::uint16_t box[5];
  std::uint8_t step[5];  // the first is 1
  std::uint8_t rank, swizzle;
  bool nan_outside;  // what lies outside of the array is NaN and not 0
  bool tf32;         // floats are rounded to TF32 on their way to shared memory
};
static_assert(sizeof(tensor) <= sizeof(CUtensorMap));

/// The block has ended, and copies are left that nobody has waited for.
[[noreturn]] void refuse_unfinished_copies(worker& w);
void forget_bulk_copies();

}  // namespace cpu_device
