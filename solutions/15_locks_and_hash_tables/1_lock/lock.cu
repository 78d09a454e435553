// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 15.1 lock: one thread at a time, and the next one sees its writes.
// Edit:  this file, from TODO(1) to TODO(6). lock.hpp has the contract.
// Run:   scripts/lab run 15.1 -- --step one_per_block     (lanes_in_turn, atomic_ref)
// Test:  scripts/lab test 15.1, and scripts/lab check 15.1, which finds hidden races
// Hints: scripts/lab hint 15.1                            Chapter: docs/15_locks_and_hash_tables.md

#include <cuda_runtime.h>

#include <cuda/atomic>

#include "given.hpp"

namespace lab::lock {
namespace {

// --- the lock: an int, 0 when it is free and 1 when a thread has it ------------------------------

/// Initializes a new lock as free. `mutex` owns it, and outlives the kernels that use it.
void make_free(device_buffer<int>& mutex) {
  // TODO(1): free is 0. This is device memory, which the host cannot write to; and
  //          device_buffer has filled it with 0xFF bytes.
  // BEGIN SOLUTION
  // STUB: throw not_written("making the lock", 1);
  CUDA_CHECK(cudaMemset(mutex.data(), 0, mutex.size_bytes()));
  // END SOLUTION
}

// --- with atomicCAS and fences -------------------------------------------------------------------
// An atomic function alone guarantees nothing about other memory. The fences do: writes of a
// thread before release() are visible to the thread that acquire()s next.

__device__ void acquire(lock_handle lock) {
  // TODO(2): wait until the lock is free and take it, *in one step*: between a separate read and
  //          write, another thread may take it. Then a __threadfence(): nothing that comes after
  //          acquire() may be done before the lock is ours.
  // BEGIN SOLUTION
  while (atomicCAS(lock.mutex, 0, 1) != 0) __nanosleep(20);  // it returned 1: the lock is taken
  __threadfence();  // reads below see what the last owner wrote
  // END SOLUTION
}

__device__ void release(lock_handle lock) {
  // TODO(3): a __threadfence(): others see our writes before they see the lock free. Then free
  //          it, with an atomic function: a plain write concurrent with an atomicCAS is a race.
  // BEGIN SOLUTION
  __threadfence();  // writes above are seen by the next owner
  atomicExch(lock.mutex, 0);
  // END SOLUTION
}

// --- one_per_block: the block's threads do not compete with each other ---------------------------
// Requires that one thread can act for the block, as after a reduction.

__global__ void one_per_block(lock_handle lock, tally* t, unsigned times) {
  // TODO(4): `times` times: one thread of the block takes the lock, enter()s with the number of
  //          threads of the block, and releases the lock.
  // BEGIN SOLUTION
  if (threadIdx.x != 0) return;  // no barrier follows
  for (unsigned i = 0; i < times; ++i) {
    acquire(lock);
    enter(t, blockDim.x);
    release(lock);
  }
  // END SOLUTION
}

// --- lanes_in_turn: every thread takes the lock --------------------------------------------------
// Requires that at most one lane of a warp competes at a time. Before Volta, a lane that has the
// lock cannot release it while its neighbours spin: the warp waits for itself forever. Since then
// the spinning ends, but 31 lanes that spin still slow down the one that they wait for.

__global__ void lanes_in_turn(lock_handle lock, tally* t, unsigned times) {
  // TODO(5): `times` times: lane 0 of the warp acquires, enter()s with 1 and releases, then lane 1,
  //          and so on to lane 31. All lanes end a turn together: __syncwarp(), outside the if.
  // BEGIN SOLUTION
  const int lane = static_cast<int>(threadIdx.x) % warpSize;
  for (unsigned i = 0; i < times; ++i) {
    for (int turn = 0; turn < warpSize; ++turn) {
      if (lane == turn) {
        acquire(lock);
        enter(t, 1);
        release(lock);
      }
      __syncwarp();  // outside the if: all lanes arrive, and the next turn begins
    }
  }
  // END SOLUTION
}

// --- atomic_ref: the same in C++ terms -----------------------------------------------------------
// The order is part of the operation (acquire, release) instead of a separate fence, and the
// scope is part of the type: all threads of this device.

using atomic_int = cuda::atomic_ref<int, cuda::thread_scope_device>;

__global__ void with_atomic_ref(lock_handle lock, tally* t, unsigned times) {
  // TODO(6): as lanes_in_turn, with an atomic_int on *lock.mutex: exchange() with 1 and
  //          cuda::memory_order_acquire until it returns 0; at the end store() a 0 with
  //          cuda::memory_order_release. You no longer need __threadfence().
  // BEGIN SOLUTION
  atomic_int mutex(*lock.mutex);
  const int lane = static_cast<int>(threadIdx.x) % warpSize;
  for (unsigned i = 0; i < times; ++i) {
    for (int turn = 0; turn < warpSize; ++turn) {
      if (lane == turn) {
        while (mutex.exchange(1, cuda::memory_order_acquire) != 0) __nanosleep(20);
        enter(t, 1);
        mutex.store(0, cuda::memory_order_release);
      }
      __syncwarp();
    }
  }
  // END SOLUTION
}

}  // namespace

result count(step version, const work& job) {
  return host_part_of_count(make_free, {one_per_block, lanes_in_turn, with_atomic_ref}, version,
                            job);
}

}  // namespace lab::lock
