// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A thread checks whether the lock is free before it tries to take it, and doubles its pause each
// time it fails. Free is 1, and taken is 0; a kernel makes the lock free at first.

#include <cuda_runtime.h>

#include <cuda/atomic>

#include "given.hpp"

namespace lab::lock {
namespace {

__global__ void set_free(int* mutex) { *mutex = 1; }

void make_free(device_buffer<int>& mutex) {
  set_free<<<1, 1>>>(mutex.data());
  CUDA_CHECK(cudaGetLastError());
}

template <class Try>
__device__ void until(const Try& taken) {
  for (unsigned pause = 8; !taken();) {
    __nanosleep(pause);
    pause = min(2 * pause, 256U);
  }
}

__device__ void count_in(const lock_handle& lock, tally* t, unsigned amount) {
  until([&] { return atomicOr(lock.mutex, 0) == 1 && atomicCAS(lock.mutex, 1, 0) == 1; });
  __threadfence();
  enter(t, amount);
  __threadfence();
  atomicAdd(lock.mutex, 1);
}

__global__ void one_per_block(lock_handle lock, tally* t, unsigned times) {
  if (threadIdx.x != 0) return;
  while (times-- > 0) count_in(lock, t, blockDim.x);
}

/// Calls turn() in one lane after the other.
template <class Turn>
__device__ void in_turn(const Turn& turn) {
  for (unsigned left = 0xFFFF'FFFF; left != 0; left >>= 1) {
    if (__popc(left) == static_cast<int>(threadIdx.x % 32) + 1) turn();
    __syncwarp();
  }
}

__global__ void lanes_in_turn(lock_handle lock, tally* t, unsigned times) {
  in_turn([&] {
    for (unsigned i = 0; i < times; ++i) count_in(lock, t, 1);
  });
}

__global__ void with_atomic_ref(lock_handle lock, tally* t, unsigned times) {
  const cuda::atomic_ref<int, cuda::thread_scope_device> mutex(*lock.mutex);
  in_turn([&] {
    for (unsigned i = 0; i < times; ++i) {
      until([&] {
        int free = 1;
        return mutex.load(cuda::memory_order_relaxed) == 1 &&
               mutex.compare_exchange_weak(free, 0, cuda::memory_order_acquire,
                                           cuda::memory_order_relaxed);
      });
      enter(t, 1);
      mutex.store(1, cuda::memory_order_release);
    }
  });
}

}  // namespace

result count(step version, const work& job) {
  return host_part_of_count(make_free, {one_per_block, lanes_in_turn, with_atomic_ref}, version,
                            job);
}

}  // namespace lab::lock
