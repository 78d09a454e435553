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

// TODO(2): step atomic_add: the same without the lock.

// TODO(3): step in_order: the block takes a ticket, the next number of all->drawn, which says which
//          part it adds up. When all->admitted is its ticket, it adds, and admits the next one.
//          Invariants: all threads of a block have the same ticket; a block waits only for blocks
//          that have started (so you cannot use blockIdx.x); the hand-over needs the same two
//          fences as a lock; and all->admitted is read and written only with atomic functions,
//          since other blocks access it at the same time.

}  // namespace

result dot(step version, std::span<const float> a, std::span<const float> b, unsigned blocks) {
  // TODO(4): host_part_of_dot() of given.hpp checks, allocates, sets the meeting_place to 0 and
  //          copies. Pass it your function that launches a step's kernel in blocks of kThreads
  //          threads.
  if (version == step::locked) throw not_written("step locked", 1);  // 1 and 4
  if (version == step::atomic_add) throw not_written("step atomic_add", 2);
  throw not_written("step in_order", 3);
}

}  // namespace lab::dot_with_lock
