// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 10.2 lost_update: what happens when two threads do x++ at the same time, and how to fix it.
// Edit:  this file, TODO(1) and TODO(2). lost_update.hpp has the contract.
// Run:   scripts/lab run 10.2            (only the second half: -- --only-count)
// Test:  scripts/lab test 10.2           scripts/lab check 10.2 looks for races
// Hints: scripts/lab hint 10.2           Chapter: docs/10_atomics.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::lost_update {
namespace {

// --- slow motion ---------------------------------------------------------------------------------

/// For one block. moments[k] becomes the state after turn k.
__global__ void replay_turns(const turn* schedule, std::size_t turns, int* x, moment* moments) {
  // TODO(1): every thread loops over all turns. When it is its own turn, a thread does the step:
  //          read *x into its register, add 1 to the register, or write the register to *x, and
  //          stores the moment. The others do nothing in this turn.
  //          Invariant: no turn begins before the previous one is over. Every thread reaches every
  //          __syncthreads(), even if it is not its turn.
  // BEGIN SOLUTION
  unsigned own = 0;  // unsigned: even the largest int can be incremented
  for (std::size_t k = 0; k < turns; ++k) {
    if (schedule[k].thread == threadIdx.x) {
      if (schedule[k].op == operation::read) own = static_cast<unsigned>(*x);
      if (schedule[k].op == operation::add) own += 1;
      if (schedule[k].op == operation::write) *x = static_cast<int>(own);
      moments[k] = {*x, static_cast<int>(own)};
    }
    __syncthreads();  // the turn is over; outside the if: all threads arrive
  }
  // END SOLUTION
}

// --- full speed ----------------------------------------------------------------------------------

using counter = unsigned long long;  // the 64-bit type that atomicAdd accepts
static_assert(sizeof(counter) == sizeof(std::uint64_t));

// TODO(2): this kernel is complete, compiles, and is wrong. Its author knew that an increment has
//          three steps, and thought that a barrier would separate them. How much is lost, and
//          why? Run it, then `scripts/lab check 10.2`, and fix it.
__global__ void count_everybody(counter* count, unsigned rounds) {
  for (unsigned round = 0; round < rounds; ++round) {
    // BEGIN SOLUTION
    // STUB: const counter old = *count;
    // STUB: __syncthreads();  // "now no thread is in the middle of reading"
    // STUB: *count = old + 1;
    // STUB: __syncthreads();  // "now no thread is in the middle of writing"
    atomicAdd(count, 1ULL);
    // END SOLUTION
  }
}

}  // namespace

// --- the host code -------------------------------------------------------------------------------

std::vector<moment> replay(std::span<const turn> schedule, unsigned threads, std::int32_t start) {
  require_good(schedule, threads);
  const device_buffer device_schedule(schedule);
  device_buffer device_x(std::span<const int>(&start, 1));
  device_buffer<moment> device_moments(schedule.size());
  // TODO(1): … and launch it here, as one block of `threads` threads.
  // BEGIN SOLUTION
  // STUB: throw not_written("the replay", 1);
  replay_turns<<<1, threads>>>(device_schedule.data(), schedule.size(), device_x.data(),
                               device_moments.data());
  // END SOLUTION
  CUDA_CHECK(cudaGetLastError());
  return device_moments.to_vector();  // waits for the kernel
}

result count(unsigned blocks, unsigned threads, unsigned rounds) {
  require_possible(blocks, threads);
  if (blocks == 0 || threads == 0 || rounds == 0) return {};

  device_buffer<counter> device_count(1);
  const float kernel_ms = time_kernel(
      [&] { count_everybody<<<blocks, threads>>>(device_count.data(), rounds); },
      [&] { CUDA_CHECK(cudaMemset(device_count.data(), 0, device_count.size_bytes())); });
  return {device_count.to_vector().front(), kernel_ms};
}

}  // namespace lab::lost_update
