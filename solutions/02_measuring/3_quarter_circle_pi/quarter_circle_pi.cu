// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 02.3 quarter_circle_pi: sixteen thousand threads add up the area of a quarter circle.
// Edit:  this file, from TODO(1) to TODO(4). quarter_circle_pi.hpp has the contract.
// Run:   scripts/lab run 02.3
// Test:  scripts/lab test 02.3
// Hints: scripts/lab hint 02.3                     Chapter: docs/02_measuring.md

#include <cuda_runtime.h>

#include <cmath>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"
#include "quarter_circle_pi.hpp"

namespace lab::quarter_circle_pi {
namespace {

// Number is float or double: the compiler makes a kernel for each.

/// The height of the circle above the middle of strip i of n.
template <class Number>
__device__ Number height(std::size_t i, std::size_t n) {
  // TODO(1): x is the strip's middle, then sqrt(1 - x * x). Everything in Number: a 0.5 without
  //          an f is a double, and turns a float calculation into a double one. Number(0.5) is
  //          right for both.
  // BEGIN SOLUTION
  // STUB: return static_cast<Number>(i + n);
  const Number x = (static_cast<Number>(i) + Number(0.5)) / static_cast<Number>(n);
  return std::sqrt(1 - x * x);
  // END SOLUTION
}

template <class Number>
__global__ void sum_heights(Number* partial, std::size_t n) {
  // The thread's index in the grid: the threads of all blocks before this one come first.
  const std::size_t thread = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;

  // TODO(2): distribute the n strips, neighbours to the same thread: each gets n / threads of them,
  //          and the first n % threads threads one more. Add up the heights of this thread's
  //          strips, and store the sum in its own element. Invariants: every strip belongs to
  //          exactly one thread; every thread stores a sum, even one without strips.
  // BEGIN SOLUTION
  const std::size_t each = n / threads;
  const std::size_t more = n % threads;  // this many threads have one more strip
  const std::size_t first = thread * each + (thread < more ? thread : more);
  const std::size_t count = each + (thread < more ? 1 : 0);

  Number sum = 0;
  for (std::size_t i = first; i < first + count; ++i) sum += height<Number>(i, n);
  partial[thread] = sum;
  // END SOLUTION
}

template <class Number>
result estimate_in(std::size_t strips) {
  device_buffer<Number> device_partial(kPartialSums);
  const float kernel_ms = time_kernel([&] {
    // TODO(3): launch sum_heights with kBlocks blocks of kThreads threads.
    // BEGIN SOLUTION
    // STUB: throw not_written("the sum of the heights", 1);  // 1 to 4
    sum_heights<<<kBlocks, kThreads>>>(device_partial.data(), strips);
    // END SOLUTION
  });

  std::vector<Number> partial(kPartialSums);
  double sum = 0;
  // TODO(4): copy the partial sums to the host (cudaMemcpy counts bytes), and check that call.
  //          Then add them up, in double.
  // BEGIN SOLUTION
  CUDA_CHECK(cudaMemcpy(partial.data(), device_partial.data(), partial.size() * sizeof(Number),
                        cudaMemcpyDeviceToHost));
  for (const Number each : partial) sum += static_cast<double>(each);
  // END SOLUTION
  return {4 * sum / static_cast<double>(strips), kernel_ms};
}

}  // namespace

result estimate(precision type, std::size_t strips) {
  refuse_if(strips == 0 || strips > kMostStrips,
            "quarter_circle_pi: a quarter circle cannot be cut into ", strips,
            " strips; it must be 1 to ", kMostStrips);
  return type == precision::in_float ? estimate_in<float>(strips) : estimate_in<double>(strips);
}

}  // namespace lab::quarter_circle_pi
