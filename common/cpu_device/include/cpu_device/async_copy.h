// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The copies that cooperative_groups::memcpy_async and cuda::memcpy_async make: at once, so that
// nothing is left to wait for. The check build sees who wrote what, and asks for the wait.
#pragma once

#include <cstddef>
#include <cstring>

#include "execution.h"
#include "synchronization.h"

namespace cpu_device {

/// Copies for the calling thread. The check build is told of it, since compilers do so only for a
/// memcpy whose size they happen to know.
CPU_DEVICE_UNWATCHED inline void copy_bytes(void* to, const void* from, std::size_t bytes,
                                            [[maybe_unused]] const char* file,
                                            [[maybe_unused]] int line) {
#ifdef CPU_DEVICE_CHECK
  cpu_device_look_at_call(from, bytes, 0, 0, file, line);
  cpu_device_look_at_call(to, bytes, 1, 0, file, line);
#endif
  std::memcpy(to, from, bytes);
}
/// The same for bytes that become 0.
CPU_DEVICE_UNWATCHED inline void clear_bytes(void* to, std::size_t bytes,
                                             [[maybe_unused]] const char* file,
                                             [[maybe_unused]] int line) {
#ifdef CPU_DEVICE_CHECK
  cpu_device_look_at_call(to, bytes, 1, 0, file, line);
#endif
  std::memset(to, 0, bytes);
}

/// The calling thread's part of a copy that `ranks` threads make together: every ranks-th piece of
/// 16 bytes.
inline void copy_share(void* to, const void* from, std::size_t bytes, std::size_t rank,
                       std::size_t ranks, const char* file, int line) {
  constexpr std::size_t kPiece = 16;
  for (std::size_t at = kPiece * rank; at < bytes; at += kPiece * ranks)
    copy_bytes(static_cast<char*>(to) + at, static_cast<const char*>(from) + at,
               bytes - at < kPiece ? bytes - at : kPiece, file, line);
}

}  // namespace cpu_device
