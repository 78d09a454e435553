// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 15.2 dot_with_lock: the sums of all blocks are added up on the device.
// Edit:  this nearly empty file: TODO(1) to TODO(4). dot_with_lock.hpp has the steps.
// Run:   scripts/lab run 15.2 -- --step locked     (then atomic_add, in_order)
// Test:  scripts/lab test 15.2, and scripts/lab check 15.2, which finds hidden races
// Hints: scripts/lab hint 15.2                     Chapter: docs/15_locks_and_hash_tables.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::dot_with_lock {
namespace {

// TODO(1): step locked: acquire and release as in 15.1, and a kernel in which each block adds the
//          sum of its part, blockIdx.x (sum_of_part() of given.hpp), to all->total with a plain +=.
//          Which of the read, the addition and the write may be done before you have the lock, or
//          after you release it?
// BEGIN SOLUTION
// --- locked: one block after the other, in any order ---------------------------------------------
// Requires that one thread acts for its block: a lock that is seldom taken costs little.

__device__ void acquire(int* lock) {
  while (atomicCAS(lock, 0, 1) != 0) __nanosleep(20);
  __threadfence();  // reads below see what the last owner wrote
}

__device__ void release(int* lock) {
  __threadfence();  // writes above are seen by the next owner
  atomicExch(lock, 0);
}

__global__ void locked(const float* a, const float* b, std::size_t n, meeting_place* all) {
  const float sum = sum_of_part(a, b, n, blockIdx.x);
  if (threadIdx.x == 0) {  // no barrier follows
    acquire(&all->lock);
    all->total += sum;
    release(&all->lock);
  }
}
// END SOLUTION

// TODO(2): step atomic_add: the same without the lock.
// BEGIN SOLUTION
// --- atomic_add: the critical section in one instruction -----------------------------------------
// Requires an atomic function for the change.

__global__ void atomic_add(const float* a, const float* b, std::size_t n, meeting_place* all) {
  const float sum = sum_of_part(a, b, n, blockIdx.x);
  if (threadIdx.x == 0) atomicAdd(&all->total, sum);
}
// END SOLUTION

// TODO(3): step in_order: the block takes a ticket, the next number of all->drawn, which says which
//          part it adds up. When all->admitted is its ticket, it adds, and admits the next one.
//          Invariants: all threads of a block have the same ticket; a block waits only for blocks
//          that have started (so you cannot use blockIdx.x); the hand-over needs the same two
//          fences as a lock; and all->admitted is read and written only with atomic functions,
//          since other blocks access it at the same time.
// BEGIN SOLUTION
// --- in_order: the block with ticket k is the k-th -----------------------------------------------
// Requires that a block waits only for blocks that have already started: block 4 never starts if
// the device is full of blocks that wait for it. So blockIdx.x cannot determine the order. A
// ticket, taken when a block starts, can: blocks with smaller tickets are running or done by then.

__global__ void in_order(const float* a, const float* b, std::size_t n, meeting_place* all) {
  __shared__ unsigned drawn_ticket;
  if (threadIdx.x == 0) drawn_ticket = atomicAdd(&all->drawn, 1U);
  __syncthreads();  // outside the if: all threads read the ticket after it
  const unsigned ticket = drawn_ticket;

  const float sum = sum_of_part(a, b, n, ticket);
  if (threadIdx.x == 0) {
    while (atomicAdd(&all->admitted, 0U) != ticket) __nanosleep(20);  // adding 0 is an atomic read
    __threadfence();  // reads below see what the previous block wrote
    all->total += sum;
    __threadfence();  // writes above are seen by the next block
    atomicExch(&all->admitted, ticket + 1);
  }
}
// END SOLUTION

// BEGIN SOLUTION
// --- the launches --------------------------------------------------------------------------------

void launch(step version, unsigned blocks, const float* a, const float* b, std::size_t n,
            meeting_place* all) {
  switch (version) {
    case step::locked:
      locked<<<blocks, kThreads>>>(a, b, n, all);
      return;
    case step::atomic_add:
      atomic_add<<<blocks, kThreads>>>(a, b, n, all);
      return;
    case step::in_order:
      in_order<<<blocks, kThreads>>>(a, b, n, all);
      return;
  }
}
// END SOLUTION

}  // namespace

result dot(step version, std::span<const float> a, std::span<const float> b, unsigned blocks) {
  // TODO(4): host_part_of_dot() of given.hpp checks, allocates, sets the meeting_place to 0 and
  //          copies. Pass it your function that launches a step's kernel in blocks of kThreads
  //          threads.
  // BEGIN SOLUTION
  // STUB: if (version == step::locked) throw not_written("step locked", 1);  // 1 and 4
  // STUB: if (version == step::atomic_add) throw not_written("step atomic_add", 2);
  // STUB: throw not_written("step in_order", 3);
  return host_part_of_dot(launch, version, a, b, blocks);
  // END SOLUTION
}

}  // namespace lab::dot_with_lock
