// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The copies that cooperative_groups::memcpy_async and cuda::memcpy_async make: at once, so that
// nothing is left to wait for. The check build sees who wrote what, and asks for the wait.
#pragma once

#include <cstddef>
#include <cstring>

namespace cpu_device {

/// The calling thread's part of a copy that `ranks` threads make together: every ranks-th piece of
/// 16 bytes.
inline void copy_share(void* to, const void* from, std::size_t bytes, std::size_t rank,
                       std::size_t ranks) {
  constexpr std::size_t kPiece = 16;
  for (std::size_t at = kPiece * rank; at < bytes; at += kPiece * ranks)
    std::memcpy(static_cast<char*>(to) + at, static_cast<const char*>(from) + at,
                bytes - at < kPiece ? bytes - at : kPiece);
}

}  // namespace cpu_device
