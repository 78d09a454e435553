// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Asynchronous copies from global to shared memory, as C functions. They are done when the thread
// waits for them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu_device/async_copy.h"
#include "cpu_device/kernel_functions.h"

/// Copies 4, 8 or 16 bytes, of which the last `zeros` are not read but become 0.
inline void __pipeline_memcpy_async(void* to, const void* from, std::size_t bytes,
                                    std::size_t zeros = 0, CPU_DEVICE_HERE) {
  if ((bytes != 4 && bytes != 8 && bytes != 16) || zeros > bytes)
    cpu_device::refuse(
        "__pipeline_memcpy_async copies 4, 8 or 16 bytes, some of which may be zeros.", file, line);
  if ((reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from)) % bytes != 0)
    cpu_device::refuse(
        "__pipeline_memcpy_async: both pointers must be multiples of the size, and one is not.",
        file, line);
  cpu_device::start_async_copy(
      {.to = to, .from = from, .bytes = bytes - zeros, .zeros = zeros, .file = file, .line = line},
      &cpu_device_look_at_call);
}
inline void __pipeline_commit() { cpu_device::commit_async_copies(); }
/// Waits for all committed batches of this thread but the last `prior` ones.
inline void __pipeline_wait_prior(std::size_t prior) {
  cpu_device::finish_async_copies(prior, &cpu_device_look_at_call);
}
