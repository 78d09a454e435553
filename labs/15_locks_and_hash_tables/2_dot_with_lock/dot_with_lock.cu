// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 15.2 dot_with_lock: the sums of all blocks become one, on the device.
// Edit:  this file, from TODO(1) to TODO(5). dot_with_lock.hpp says what is asked for.
// Run:   scripts/lab run 15.2 -- --step locked     (then atomic_add, in_order)
// Test:  scripts/lab test 15.2, and scripts/lab check 15.2: what luck hides, the checks find
// Hints: scripts/lab hint 15.2                     Chapter: docs/15_locks_and_hash_tables.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::dot_with_lock {
namespace {

// --- locked: one block after the other, in any order ---------------------------------------------
// Requires that one thread speaks for its block: a lock that is taken seldom costs little.

__device__ void acquire(int* lock) {
  // TODO(1): as in 15.1: wait until it is free and take it in one step; then nothing that follows
  //          is done before it is ours.
}

__device__ void release(int* lock) {
  // TODO(1): as in 15.1: others see what we did before they see the lock free.
}

__global__ void locked(const float* a, const float* b, std::size_t n, meeting_place* all) {
  // TODO(2): the sum of this block's part (blockIdx.x). Then one thread adds it to all->total, by a
  //          plain +=, which is a read, an addition and a write. Which of these may be done before
  //          the lock is ours, or after it is given back?
}

// --- atomic_add: what the lock was for, in one instruction ---------------------------------------
// Requires that the change is one for which there is an atomic function.

__global__ void atomic_add(const float* a, const float* b, std::size_t n, meeting_place* all) {
  // TODO(3): as before, without the lock.
}

// --- in_order: who has drawn number k is the k-th ------------------------------------------------
// Requires that a block waits only for blocks that have already begun: block 4 never begins if all
// places on the device are taken by blocks that wait for it. So not blockIdx.x says who comes when.
// A ticket does, drawn when a block begins: all smaller tickets are then held by blocks that run.

__global__ void in_order(const float* a, const float* b, std::size_t n, meeting_place* all) {
  // TODO(4): one thread draws the block's ticket: the next number of all->drawn, for it alone.
  //          All threads of the block must find it in shared memory before they use it. It also
  //          says which part the block takes: so ticket k always stands for the same elements.

  // TODO(5): the part's sum. Then one thread waits until all->admitted is its ticket, adds, and
  //          lets the next one in. There is no lock, and the hand-over needs the same two fences.
  //          Read and write all->admitted by atomic functions only: others do so meanwhile.
}

// --- the launches --------------------------------------------------------------------------------

void launch(step which, unsigned blocks, const float* a, const float* b, std::size_t n,
            meeting_place* all) {
  switch (which) {
    case step::locked:
      // TODO(2): launch it, with blocks of kThreads threads.
      throw not_written("step locked", 1);  // 1 and 2 are this step
    case step::atomic_add:
      // TODO(3): launch it.
      throw not_written("step atomic_add", 3);
    case step::in_order:
      // TODO(5): launch it.
      throw not_written("step in_order", 4);  // 4 and 5 are this step
  }
}

}  // namespace

result dot(step which, std::span<const float> a, std::span<const float> b, unsigned blocks) {
  return host_part_of_dot(launch, which, a, b, blocks);
}

}  // namespace lab::dot_with_lock
