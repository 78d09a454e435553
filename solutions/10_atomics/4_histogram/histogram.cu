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
  // BEGIN SOLUTION
  // STUB: throw not_written("step cpu", 1);
  for (const std::uint8_t byte : bytes) ++count[byte];
  // END SOLUTION
}

// --- what every step below needs -----------------------------------------------------------------

/// Sets all kBins counters to 0, before the kernel that counts in them.
void zero(counter* count) {
  // TODO(2): with cudaMemset(). It counts bytes, and you must check it like every call.
  // BEGIN SOLUTION
  // STUB: throw not_written("zeroing the counters", 2);
  CUDA_CHECK(cudaMemset(count, 0, kBins * sizeof(counter)));
  // END SOLUTION
}

// --- global_atomics: every increment goes to one of 256 counters in global memory ----------------
// Requires counters that are 0, and works with any grid.

__global__ void global_atomics(const std::uint8_t* bytes, std::size_t n, counter* count) {
  // TODO(2): loop over the bytes in strides of the grid, and count each one. Other threads
  //          increment the same counter at the same time: reading it, adding 1 and writing it must
  //          be one indivisible step.
  // BEGIN SOLUTION
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
    atomicAdd(&count[bytes[i]], 1ULL);
  // END SOLUTION
}

void launch_global_atomics(const std::uint8_t* bytes, std::size_t n, counter* count,
                           unsigned threads) {
  // TODO(2): launch global_atomics in grid_of_the_book(threads).
  // BEGIN SOLUTION
  // STUB: throw not_written("step global_atomics", 2);
  const grid g = grid_of_the_book(threads);
  global_atomics<<<g.blocks, g.threads>>>(bytes, n, count);
  // END SOLUTION
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
  // BEGIN SOLUTION
  __shared__ unsigned block_histogram[kBins];  // this block's counts
  for (unsigned bin = threadIdx.x; bin < kBins; bin += blockDim.x) block_histogram[bin] = 0;
  __syncthreads();  // all counters are 0

  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
    atomicAdd(&block_histogram[bytes[i]], 1U);
  __syncthreads();  // the block has counted all its bytes

  for (unsigned bin = threadIdx.x; bin < kBins; bin += blockDim.x)
    atomicAdd(&count[bin], counter{block_histogram[bin]});
  // END SOLUTION
}

void launch_shared_atomics(const std::uint8_t* bytes, std::size_t n, counter* count,
                           unsigned threads) {
  // TODO(3): launch shared_atomics in grid_of_the_book(threads).
  // BEGIN SOLUTION
  // STUB: throw not_written("step shared_atomics", 3);
  const grid g = grid_of_the_book(threads);
  shared_atomics<<<g.blocks, g.threads>>>(bytes, n, count);
  // END SOLUTION
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
  // BEGIN SOLUTION
  const unsigned words[] = {loaded.x, loaded.y, loaded.z, loaded.w};
#pragma unroll
  for (const unsigned word : words)
#pragma unroll
    for (unsigned bit = 0; bit < 32; bit += 8) atomicAdd(&copies[word >> bit & 0xFFU][lane], 1U);
  // END SOLUTION
}

__global__ void lane_copies(const std::uint8_t* bytes, std::size_t n, counter* count) {
  // TODO(5): like shared_atomics, but with the copies of the drawing: zero copies[kBins][kLanes],
  //          and add them up before the one atomicAdd for each bin. Load the bytes as uint4, 16 at
  //          a time, and count them with count_sixteen(). Which threads count the last n % 16?
  //          When that is right: how many loads does a thread have in flight? Hint 6.
  // BEGIN SOLUTION
  __shared__ unsigned copies[kBins][kLanes];  // [value of a byte][lane]
  for (unsigned i = threadIdx.x; i < kBins * kLanes; i += blockDim.x)
    copies[i / kLanes][i % kLanes] = 0;
  __syncthreads();  // all copies are 0

  const unsigned lane = threadIdx.x % kLanes;
  const std::size_t thread = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  const auto* sixteens = reinterpret_cast<const uint4*>(bytes);
  const std::size_t count_of_sixteens = n / kAtOnce;
  std::size_t next = thread;
  for (; next + (kLoads - 1) * stride < count_of_sixteens; next += kLoads * stride) {
    uint4 loaded[kLoads];
#pragma unroll
    for (unsigned i = 0; i < kLoads; ++i) loaded[i] = sixteens[next + i * stride];
#pragma unroll
    for (unsigned i = 0; i < kLoads; ++i) count_sixteen(loaded[i], copies, lane);
  }
  for (; next < count_of_sixteens; next += stride) {  // fewer than kLoads are left
    const uint4 loaded = sixteens[next];
    count_sixteen(loaded, copies, lane);
  }
  for (std::size_t i = count_of_sixteens * kAtOnce + thread; i < n; i += stride)  // the last n % 16
    atomicAdd(&copies[bytes[i]][lane], 1U);
  __syncthreads();  // the block has counted all its bytes

  for (unsigned bin = threadIdx.x; bin < kBins; bin += blockDim.x) {
    unsigned sum = 0;
    // Neighbours begin at different lanes: otherwise they would all read the same bank.
    for (unsigned i = 0; i < kLanes; ++i) sum += copies[bin][(i + bin) % kLanes];
    atomicAdd(&count[bin], counter{sum});
  }
  // END SOLUTION
}

/// As many blocks as the device runs at the same time: a block has 8192 counters to zero and to add
/// up, so more blocks would be a waste, and fewer would leave part of the device idle.
grid grid_of_lane_copies(unsigned threads, std::size_t n) {
  const unsigned size = block_size(threads, 512);
  // TODO(6, bonus): use cudaOccupancyMaxActiveBlocksPerMultiprocessor (for lane_copies, with blocks
  //          of `size` threads), times cudaDevAttrMultiProcessorCount. But no more blocks than n
  //          bytes need.
  // BEGIN SOLUTION
  // STUB: return {1, size};
  int blocks_per_processor = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_per_processor, lane_copies,
                                                           static_cast<int>(size), 0));
  const std::size_t resident = std::size_t{device_limit(cudaDevAttrMultiProcessorCount)} *
                               static_cast<std::size_t>(blocks_per_processor);
  const std::size_t bytes_at_once = size * kAtOnce * kLoads;  // loaded by a block
  const std::size_t needed = (n + bytes_at_once - 1) / bytes_at_once;
  return {static_cast<unsigned>(std::min(resident, needed)), size};
  // END SOLUTION
}

void launch_lane_copies(const std::uint8_t* bytes, std::size_t n, counter* count,
                        unsigned threads) {
  const grid g = grid_of_lane_copies(threads, n);
  // TODO(5): launch lane_copies in the grid g.
  // BEGIN SOLUTION
  // STUB: throw not_written("step lane_copies", 4);  // 4, 5 and 6 are this step
  lane_copies<<<g.blocks, g.threads>>>(bytes, n, count);
  // END SOLUTION
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
