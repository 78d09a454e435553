// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 15.1 lock: what lock.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>
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

/// The critical section. Plain reads and writes, and a break between them that gives other
/// threads the time to spoil the count. Only a lock around it keeps it right.
__device__ inline void enter(tally* t, unsigned amount) {
  const unsigned long long seen = t->count;
  __nanosleep(20);
  t->count = seen + amount;
  t->entries += 1;
}

/// What a kernel gets. It may be copied as often as you like: it owns nothing, so no copy frees
/// anything. (A launch copies its arguments; a struct whose destructor called cudaFree would free
/// the lock when the *launch* is over, which is before the kernel is.)
struct lock_handle {
  int* mutex = nullptr;
};
static_assert(std::is_trivially_copyable_v<lock_handle>,
              "a kernel's arguments are copied as bytes: no destructor, no copy constructor");

using kernel_of_lock = void (*)(lock_handle lock, tally* t, unsigned times);

/// count(), with what makes a new lock free, and the kernels in the order of the steps.
inline result host_part_of_count(void (*make_free)(device_buffer<int>& mutex),
                                 const std::array<kernel_of_lock, 3>& kernels, step version,
                                 const work& job) {
  require_at_most(cudaDevAttrMaxGridDimX, job.blocks, "blocks");
  require_at_most(cudaDevAttrMaxThreadsPerBlock, job.threads, "threads in a block");
  if (job.blocks == 0 || job.threads == 0) return {};  // such a launch would be an error

  const kernel_of_lock kernel = kernels.at(static_cast<std::size_t>(version));
  device_buffer<int> mutex(1);
  make_free(mutex);
  const lock_handle lock{mutex.data()};
  device_buffer<tally> device_tally(1);
  const float kernel_ms = time_kernel(
      [&] { kernel<<<job.blocks, job.threads>>>(lock, device_tally.data(), job.times); },
      [&] { CUDA_CHECK(cudaMemset(device_tally.data(), 0, sizeof(tally))); });

  const tally counted = device_tally.to_vector().front();  // waits until the kernel is done
  return {counted.count, counted.entries, kernel_ms};
}

}  // namespace lab::lock
