// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 10.4 histogram: many threads count in few counters, and none of the increments is lost.
// Edit:  this file, TODO(1) to TODO(5); TODO(6) is a bonus. histogram.hpp has the contract.
// Run:   scripts/lab run 10.4 -- --step cpu     (global_atomics, shared_atomics, lane_copies)
// Test:  scripts/lab test 10.4
// Hints: scripts/lab hint 10.4                  Chapter: docs/10_atomics.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::histogram {
namespace {

using counter = unsigned long long;  // the 64-bit type that atomicAdd accepts
static_assert(sizeof(counter) == sizeof(std::uint64_t));

// --- cpu -----------------------------------------------------------------------------------------

void count_on_cpu(std::span<const std::uint8_t> bytes, std::span<std::uint64_t> count) {
  // TODO(1): count the bytes. All counts are 0 when this begins.
  throw not_written("step cpu", 1);
}

// --- what every step below needs -----------------------------------------------------------------

/// Sets all kBins counters to 0, before the kernel that counts in them.
void zero(counter* count) {
  // TODO(2): with cudaMemset(). It counts bytes, and you must check it like every call.
  throw not_written("zeroing the counters", 2);
}

// --- global_atomics: every increment goes to one of 256 counters in global memory ----------------
// Requires counters that are 0, and works with any grid.

__global__ void global_atomics(const std::uint8_t* bytes, std::size_t n, counter* count) {
  // TODO(2): loop over the bytes in strides of the grid, and count each one. Other threads
  //          increment the same counter at the same time: reading it, adding 1 and writing it must
  //          be one indivisible step.
}

void launch_global_atomics(const std::uint8_t* bytes, std::size_t n, counter* count,
                           unsigned threads) {
  // TODO(2): launch global_atomics in grid_of_the_book(threads).
  throw not_written("step global_atomics", 2);
}

// --- shared_atomics: the same, but only the threads of a block compete ---------------------------
// Requires counters that are 0, and that no block has to count 2^32 bytes: its private counters
// have 32 bits. With two blocks per multiprocessor that would take 8 GiB of memory for each.

__global__ void shared_atomics(const std::uint8_t* bytes, std::size_t n, counter* count) {
  // TODO(3): give the block kBins counters (unsigned) in shared memory, zero them, count this
  //          block's bytes in them, and add them to `count`, with one atomicAdd for each bin. A
  //          block may have fewer threads than there are bins, or more.
  //          Invariants: no thread counts before all counters are 0, and none adds them up before
  //          all have counted. Every thread of the block reaches every __syncthreads(), even one
  //          that has no byte.
}

void launch_shared_atomics(const std::uint8_t* bytes, std::size_t n, counter* count,
                           unsigned threads) {
  // TODO(3): launch shared_atomics in grid_of_the_book(threads).
  throw not_written("step shared_atomics", 3);
}

// --- lane_copies: the lanes of a warp do not compete at all --------------------------------------
// Of 32 lanes that count random bytes, three or four usually need the same bank of shared memory,
// and with equal bytes all need the same counter: they are serialized. Here every lane has private
// counters, all of a lane's in one bank, and each lane's in a different bank:
//
//                  lane    0     1     2           31         Whatever the bytes are, the 32 lanes
//      copies[  0]      [bank0|bank1|bank2| … |bank31]        of a warp count in 32 banks, in one
//      copies[  1]      [bank0|bank1|bank2| … |bank31]        go. Lane 5 of another warp uses the
//        …                                                    same counters as this one's: the
//      copies[255]      [bank0|bank1|bank2| … |bank31]        increments are still atomic.
//
// Requires counters that are 0, 32 KiB of shared memory for a block, and bytes that begin at a
// multiple of 16 (cudaMalloc gives 256).

constexpr unsigned kLanes = 32;
constexpr std::size_t kAtOnce = sizeof(uint4);  // bytes per load
constexpr std::size_t kLoads = 4;               // that a thread has in flight

/// Counts the 16 bytes of a load in the lane's copy.
__device__ void count_sixteen(uint4 loaded, unsigned (*copies)[kLanes], unsigned lane) {
  // TODO(4): increment the lane's counters of the four bytes of loaded.x, then of y, z and w. In a
  //          word, the lowest eight bits are the first byte, and so on up.
}

__global__ void lane_copies(const std::uint8_t* bytes, std::size_t n, counter* count) {
  // TODO(5): like shared_atomics, but with the copies of the drawing: zero copies[kBins][kLanes],
  //          and add them up before the one atomicAdd for each bin. Load the bytes as uint4, 16 at
  //          a time, and count them with count_sixteen(). Which threads count the last n % 16?
  //          When that is right: how many loads does a thread have in flight? Hint 6.
}

/// As many blocks as the device runs at the same time: a block has 8192 counters to zero and to add
/// up, so more blocks would be a waste, and fewer would leave part of the device idle.
grid grid_of_lane_copies(unsigned threads, std::size_t n) {
  const unsigned size = block_size(threads, 512);
  // TODO(6, bonus): use cudaOccupancyMaxActiveBlocksPerMultiprocessor (for lane_copies, with blocks
  //          of `size` threads), times cudaDevAttrMultiProcessorCount. But no more blocks than n
  //          bytes need.
  return {1, size};
}

void launch_lane_copies(const std::uint8_t* bytes, std::size_t n, counter* count,
                        unsigned threads) {
  const grid g = grid_of_lane_copies(threads, n);
  // TODO(5): launch lane_copies in the grid g.
  throw not_written("step lane_copies", 4);  // 4, 5 and 6 are this step
}

// --- given ---------------------------------------------------------------------------------------

void launch(step version, const std::uint8_t* bytes, std::size_t n, counter* count,
            unsigned threads) {
  switch (version) {
    case step::cpu:
      break;  // has no kernel
    case step::global_atomics:
      return launch_global_atomics(bytes, n, count, threads);
    case step::shared_atomics:
      return launch_shared_atomics(bytes, n, count, threads);
    case step::lane_copies:
      return launch_lane_copies(bytes, n, count, threads);
  }
  throw invalid_input("histogram: this step has no kernel");
}

}  // namespace

result count(step version, std::span<const std::uint8_t> bytes, unsigned threads) {
  result out{std::vector<std::uint64_t>(kBins)};
  if (version == step::cpu) {
    const host_timer timer;
    count_on_cpu(bytes, out.count);
    out.kernel_ms = static_cast<float>(timer.milliseconds());
    return out;
  }
  block_size(threads, 1);  // throws before anything is allocated
  if (bytes.empty()) return out;

  const device_buffer device_bytes(bytes);
  device_buffer<counter> device_count(kBins);  // not 0: a new buffer is filled with 0xFF bytes
  out.kernel_ms = time_kernel([&] {
    zero(device_count.data());
    launch(version, device_bytes.data(), bytes.size(), device_count.data(), threads);
  });

  const std::vector<counter> counted = device_count.to_vector();  // waits until the kernel is done
  std::ranges::copy(counted, out.count.begin());
  return out;
}

}  // namespace lab::histogram
