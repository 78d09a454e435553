// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.5 integrals: three quadrature rules, panel by panel, added up in shared memory.
// Edit:  this file, from TODO(1) to TODO(5). integrals.hpp has the contract.
// Run:   scripts/lab run 05.5 -- --rule midpoint     (then trapezoid, simpson)
// Test:  scripts/lab test 05.5
// Hints: scripts/lab hint 05.5                       Chapter: docs/05_shared_memory.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::integrals {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kMaxBlocks = 1024;  // fills the GPUs of today; the threads stride over the rest
static_assert((kThreads & (kThreads - 1)) == 0, "the tree halves the block until 1 is left");

/// What the panel from `left` to `left + h` contributes, not yet multiplied by h: an average of f.
__device__ double average_of_panel(rule quadrature, integrand f, double left, double h) {
  // TODO(1): the three rules: see integrals.hpp. The weights of a rule add up to 1, so that a
  //          constant function is integrated exactly.
  // BEGIN SOLUTION
  // STUB: return value_at(f, 0);
  const double middle = left + h / 2, right = left + h;
  switch (quadrature) {
    case rule::midpoint:
      return value_at(f, middle);
    case rule::trapezoid:
      return (value_at(f, left) + value_at(f, right)) / 2;
    case rule::simpson:
      return (value_at(f, left) + 4 * value_at(f, middle) + value_at(f, right)) / 6;
  }
  return 0;
  // END SOLUTION
}

/// The sum of what the threads of this block contribute, for thread 0. `cache` is shared memory
/// with one double per thread; the block's size is a power of two. All its threads call it.
__device__ double sum_of_block(double* cache, double thread_sum) {
  // TODO(2): the tree of 05.1, in double. Try it from memory.
  //          Invariant: before a level, the numbers of the threads that are still active
  //          add up to the sum, and all threads can see them.
  // BEGIN SOLUTION
  // STUB: return thread_sum;
  const unsigned thread = threadIdx.x;
  cache[thread] = thread_sum;
  __syncthreads();  // all numbers are in place

  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (thread < half) cache[thread] += cache[thread + half];
    __syncthreads();  // this level is complete; outside the if: all threads of the block arrive
  }
  return cache[0];
  // END SOLUTION
}

/// partial[block] = the sum of the averages of the block's panels.
__global__ void add_panels(rule quadrature, integrand f, double a, double h, std::size_t n,
                           double* partial) {
  __shared__ double cache[kThreads];

  // TODO(3): panel i begins at a + i * h. Each thread adds up the averages of panels, from its
  //          index on, in strides of the grid. It must work for any n: each of the n panels belongs
  //          to one thread, and a thread without panels contributes 0. Then the block's sum, and
  //          one thread stores it.
  // BEGIN SOLUTION
  double thread_sum = 0;
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
    thread_sum += average_of_panel(quadrature, f, a + static_cast<double>(i) * h, h);

  const double sum = sum_of_block(cache, thread_sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
  // END SOLUTION
}

/// How many blocks n panels need, but not more than kMaxBlocks.
unsigned blocks_for(std::size_t n) {
  // TODO(4): one panel per thread; the last block need not be full. Apply the limit of the grid
  //          before the number becomes an unsigned: n may be 2^53.
  // BEGIN SOLUTION
  // STUB: throw not_written("the integral", 1);
  return static_cast<unsigned>(std::min<std::size_t>((n + kThreads - 1) / kThreads, kMaxBlocks));
  // END SOLUTION
}

}  // namespace

result integrate(rule quadrature, integrand f, double a, double b, std::size_t n) {
  require_sensible(f, a, b, n);
  if (a == b) return {};  // even where f is infinite, and 0 times that would be NaN

  const unsigned blocks = blocks_for(n);
  const double h = (b - a) / static_cast<double>(n);  // negative if a > b, and so is the result
  // TODO(5): as in 05.1: memory for the blocks' sums, the launch in time_kernel(), and the host
  //          adds them up. The panels' averages have not been multiplied by h yet.
  // BEGIN SOLUTION
  // STUB: throw not_written("the integral", 1);  // 1 to 5
  device_buffer<double> device_partial(blocks);

  const float kernel_ms = time_kernel(
      [&] { add_panels<<<blocks, kThreads>>>(quadrature, f, a, h, n, device_partial.data()); });

  const std::vector<double> partial = device_partial.to_vector();
  return {h * std::accumulate(partial.begin(), partial.end(), 0.0), kernel_ms};
  // END SOLUTION
}

}  // namespace lab::integrals
