// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 15.1 lock: what lock.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <cuda/atomic>
#include <type_traits>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/time_kernel.hpp"
#include "lock.hpp"

namespace lab::lock {

struct tally {
  unsigned long long count;
  unsigned long long entries;
};

/// The critical section. Plain reads and writes, and a break between them that gives everybody
/// else the time to spoil the count. Only a lock around it keeps it right.
__device__ inline void enter(tally* t, unsigned amount) {
  const unsigned long long seen = t->count;
  __nanosleep(20);
  t->count = seen + amount;
  t->entries += 1;
}

}  // namespace lab::lock
