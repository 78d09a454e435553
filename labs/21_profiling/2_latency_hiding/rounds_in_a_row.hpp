// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 21.2 latency_hiding: how the tests see on the CPU device whether chains are in flight together.
// There is nothing to do in here.
#pragma once

#ifdef __CPU_DEVICE__

#include <cuda_runtime.h>

#include <atomic>
#include <cmath>
#include <cstdint>

namespace lab::latency_hiding {

/// How many rounds began with what the thread's last round had brought, and so had to wait for it.
inline std::atomic<std::uint64_t> rounds_in_a_row = 0;
inline thread_local float last_round = NAN;

/// CUDA's, which it hides in this namespace.
CPU_DEVICE_UNWATCHED __device__ inline float fmaf(float a, float b, float c) {
  if (a == last_round || b == last_round) rounds_in_a_row.fetch_add(1, std::memory_order_relaxed);
  return last_round = ::fmaf(a, b, c);
}

}  // namespace lab::latency_hiding

#endif
