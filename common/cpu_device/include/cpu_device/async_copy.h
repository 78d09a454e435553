// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The copies that a thread starts before it continues: cooperative_groups::memcpy_async,
// cuda::memcpy_async, __pipeline_memcpy_async and cp.async.
//
// Those that a thread itself waits for are done as late as CUDA allows: when it does. An earlier
// read finds the old values. Those that arrive at a barrier are done at once; the check build sees
// who wrote what, and asks for the wait.
#pragma once

#include <cstddef>
#include <cstring>

#include "execution.h"
#include "synchronization.h"

namespace cpu_device {

/// Copies for the calling thread. Reported to the check build, since compilers do so only for a
/// memcpy whose size they know.
CPU_DEVICE_UNWATCHED inline void copy_bytes(void* to, const void* from, std::size_t bytes,
                                            [[maybe_unused]] const char* file,
                                            [[maybe_unused]] int line) {
#ifdef CPU_DEVICE_CHECK
  cpu_device_look_at_call(from, bytes, 0, 0, file, line);
  cpu_device_look_at_call(to, bytes, 1, 0, file, line);
#endif
  std::memcpy(to, from, bytes);
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

/// Has the check build look at accesses: cpu_device_look_at_call(), which is null elsewhere.
using look_at = decltype(&cpu_device_look_at_call);

/// A copy, or a thread's part of one, that is done later. After the copied bytes, `zeros` bytes
/// become 0.
struct async_copy {
  void* to;
  const void* from;
  std::size_t bytes, zeros = 0;
  std::size_t rank = 0, ranks = 1;  ///< as in copy_share()
  const char* file;
  int line;
};
/// From here on no other thread may use the memory that is written.
void start_async_copy(const async_copy& copy, look_at look);
/// The calling thread's copies since the last call are a batch.
void commit_async_copies();
/// Does the calling thread's batches but the last `but` ones.
void finish_async_copies(std::size_t but, look_at look);

}  // namespace cpu_device
