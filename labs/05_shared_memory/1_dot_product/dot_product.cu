// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.1 dot_product: the threads of a block add up their values, in memory that they share.
// Edit:  this file, from TODO(1) to TODO(6); TODO(7) to TODO(9) are a bonus. dot_product.hpp has
//        the contract.
// Run:   scripts/lab run 05.1 -- --step static     (then --step dynamic, shuffle, vectorized)
// Test:  scripts/lab test 05.1
// Hints: scripts/lab hint 05.1                     Chapter: docs/05_shared_memory.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::dot_product {
namespace {

constexpr unsigned kThreads = 256;   // a block of static_shared
constexpr unsigned kMaxBlocks = 32;  // its largest grid; its threads loop over the rest
static_assert((kThreads & (kThreads - 1)) == 0, "the tree halves the block until 1 is left");

// --- static_shared and dynamic_shared: from one number per thread to one number per block --------

/// Returns the sum of all threads' thread_sum to thread 0 (to others, any value). `cache` is shared
/// memory with one float per thread; the block's size is a power of two. All its threads call it.
__device__ float sum_of_block(float* cache, float thread_sum) {
  // TODO(1): a tree. Each thread puts its number into `cache`. Then the first half of the threads
  //          add the second half's numbers to their own, then the first quarter the second
  //          quarter's, until one number is left.
  //          Invariant: before a level, the numbers of the threads that are still active add
  //          up to the sum, and *all threads* can see them.
  //          Every thread of the block must reach every __syncthreads(), even an idle one.
  return thread_sum;
}

// --- static_shared: the array's size is part of the program --------------------------------------
// Requires blocks of exactly kThreads threads.

__global__ void static_shared(const float* a, const float* b, float* partial, std::size_t n) {
  __shared__ float cache[kThreads];  // one per thread, and one such array per block

  // TODO(2): add up this thread's products in a local variable: from its global index on, in steps
  //          of the grid's size. A thread without products contributes 0. Then sum_of_block(), and
  //          one thread stores the block's sum in `partial`, at the block's index.
}

// --- dynamic_shared: the launch says how much shared memory a block gets -------------------------
// Requires a block whose size is a power of two, and a launch with one float per thread.

constexpr unsigned kInFlight = 4;  // products of a thread that are in flight at the same time

/// The sum of this thread's products, for a grid of any size.
__device__ float sum_of_products(const float* a, const float* b, std::size_t n) {
  // TODO(4): as in static_shared. When that is right, make it fast: a thread that has only one load
  //          of a and one of b in flight mostly waits. Give it kInFlight products at a time, a
  //          stride apart, each with its own sum. Watch out for the last elements.
  return 0;
}

__global__ void dynamic_shared(const float* a, const float* b, float* partial, std::size_t n) {
  extern __shared__ float dynamic_cache[];  // the launch determines its size
  // TODO(4): the sum of the block, with dynamic_cache.
}

// --- warp_shuffle: the lanes of a warp exchange numbers without memory ---------------------------
// Requires blocks of whole warps.

constexpr unsigned kWarp = 32;
constexpr unsigned kAllLanes = 0xFFFFFFFF;  // a bit for each lane that takes part

/// The sum of what the lanes of this warp contribute, for lane 0. All 32 lanes call it.
__device__ float sum_of_warp(float value) {
  // TODO(7, bonus): the tree again. __shfl_down_sync(kAllLanes, value, 16) is the value of the lane
  //          16 further: all lanes in the mask execute it together and exchange registers. So a
  //          level needs no shared memory and no barrier. Then 8 further, 4, 2, 1.
  return value;
}

/// Stores the sum of the values of this block's threads at the block's index in `partial`.
__device__ void store_sum_of_block(float thread_sum, float* partial) {
  __shared__ float of_warps[kWarp];  // a block has at most 32 warps
  // TODO(8, bonus): each warp adds up its threads' sums, and its lane 0 puts the result into
  //          of_warps. Then the first warp, with all 32 lanes, adds up the warps' sums; a lane
  //          without a warp contributes 0. One barrier is enough: where?
}

__global__ void warp_shuffle(const float* a, const float* b, float* partial, std::size_t n) {
  store_sum_of_block(sum_of_products(a, b, n), partial);
}

// --- vectorized: four neighbours with each load --------------------------------------------------
// Requires arrays that begin at multiples of 16 bytes; cudaMalloc's begin at multiples of 256.

__global__ void vectorized(const float* a, const float* b, float* partial, std::size_t n) {
  // TODO(9, bonus): read a and b as arrays of n / 4 float4, in a grid-stride loop, with a separate
  //          sum for each of x, y, z and w: so four products are in flight without an array. Then
  //          store_sum_of_block(). Invariant: every element is added exactly once, including the
  //          last n % 4, which do not fill a float4.
}

// --- the host ------------------------------------------------------------------------------------

/// How a step launches its kernel.
grid grid_for(step version, kernel_of_dot kernel, std::size_t n) {
  if (version == step::static_shared) {
    // TODO(3): {blocks, threads of a block, bytes of dynamic shared memory}: blocks of kThreads
    //          threads, as many as n needs, at most kMaxBlocks, and no dynamic shared memory.
    throw not_written("step static_shared", 1);  // 1, 2 and 3 are this step
  }
  // TODO(5): a block size, a power of two: 32 (a warp) for few elements, up to 512 for many, by
  //          any rule. How many bytes of dynamic shared memory? (Only dynamic_shared has any.)
  //          And how many such blocks of this kernel does the device run at once? No more are
  //          needed: the threads stride. (cudaOccupancyMaxActiveBlocksPerMultiprocessor, times
  //          device_limit(cudaDevAttrMultiProcessorCount).)
  throw not_written("step dynamic_shared", 4);  // 4 and 5 are this step
}

}  // namespace

result dot(step version, std::span<const float> a, std::span<const float> b) {
  require_good(a, b);
  const std::size_t n = a.size();
  if (n == 0) return {};  // a grid of no blocks would be an error
  // Remove the line of a step when it is written.
  if (version == step::warp_shuffle) throw not_written("step warp_shuffle", 7);  // 7 and 8
  if (version == step::vectorized) throw not_written("step vectorized", 9);

  constexpr kernel_of_dot kKernels[] = {static_shared, dynamic_shared, warp_shuffle, vectorized};
  const kernel_of_dot dot_kernel = kKernels[static_cast<std::size_t>(version)];
  const grid g = grid_for(version, dot_kernel, n);
  // TODO(6): both vectors on the device, memory for a partial sum of each block, the launch of
  //          dot_kernel in time_kernel(). The host adds up the partial sums, in double: a few
  //          hundred numbers are too little work for a GPU.
  throw not_written("the sum of the partial sums", 6);
}

}  // namespace lab::dot_product
