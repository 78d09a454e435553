// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What there is that a program made and has to destroy. Internal to the CPU device.
#pragma once

#include <cstddef>

#include "cpu_device.h"

namespace cpu_device {

/// Whoever keeps objects makes one of these, a variable of a file: it tells live_objects() how many
/// there are now.
struct object_keeper {
  object_keeper(object_kind kind, std::size_t (*count)());

  object_kind kind;
  std::size_t (*count)();
  const object_keeper* next;
};

}  // namespace cpu_device
