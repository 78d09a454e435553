// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.6 euclidean_norm: the same tree for sums, for a maximum, and for pairs of numbers.
// Edit:  this file, from TODO(1) to TODO(9). euclidean_norm.hpp has the contract.
// Run:   scripts/lab run 05.6 -- --step dot --data huge     (then scaled, one_pass)
// Test:  scripts/lab test 05.6
// Hints: scripts/lab hint 05.6                              Chapter: docs/05_shared_memory.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::euclidean_norm {
namespace {

// --- all steps: from one value per thread to one value per block ---------------------------------

/// join(join(a, b), …) of what the threads of this block contribute, for thread 0. `cache` is
/// shared memory with kThreads elements. All threads of the block call it. The tree works for
/// any join, as long as neither the order of the values nor that of the joining matters.
template <class T, class Join>
__device__ T join_block(T* cache, T value, Join join) {
  // TODO(1): the tree of 05.1, with join(a, b) in place of a + b.
  // BEGIN SOLUTION
  // STUB: return join(value, value);
  const unsigned thread = threadIdx.x;
  cache[thread] = value;
  __syncthreads();  // all values are in place

  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (thread < half) cache[thread] = join(cache[thread], cache[thread + half]);
    __syncthreads();  // this level is complete; outside the if: all threads of the block arrive
  }
  return cache[0];
  // END SOLUTION
}

struct plus {
  __device__ float operator()(float a, float b) const { return a + b; }
};

// --- by_dot_product and scaled_by_max ------------------------------------------------------------

/// partial[block] = the sum of (x[i] / scale)². A scale of 1 changes nothing.
__global__ void sum_squares(const float* x, std::size_t n, float scale, float* partial) {
  __shared__ float cache[kThreads];

  // TODO(2): in strides of the grid, as in 05.1. Divide; do not multiply by 1 / scale, which is
  //          infinity for the smallest floats.
  // BEGIN SOLUTION
  float thread_sum = 0;
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    const float scaled = x[i] / scale;
    thread_sum += scaled * scaled;
  }
  const float sum = join_block(cache, thread_sum, plus{});
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
  // END SOLUTION
}

// --- scaled_by_max -------------------------------------------------------------------------------

/// The larger of two numbers; NaN if one of them is NaN. (fmaxf would return the other one.)
struct larger {
  __host__ __device__ float operator()(float a, float b) const {
    // TODO(4): every comparison with NaN is false. Which of a and b is the result then?
    // BEGIN SOLUTION
    // STUB: return a > b ? a : b;
    return a > b || a != a ? a : b;  // only NaN differs from itself
    // END SOLUTION
  }
};

/// partial[block] = the largest |x[i]|.
__global__ void find_largest(const float* x, std::size_t n, float* partial) {
  __shared__ float cache[kThreads];

  // TODO(5): like sum_squares(), with another join. What does a thread without elements contribute,
  //          so that it changes nothing?
  // BEGIN SOLUTION
  float thread_max = 0;
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
    thread_max = larger{}(thread_max, fabsf(x[i]));
  const float largest = join_block(cache, thread_max, larger{});
  if (threadIdx.x == 0) partial[blockIdx.x] = largest;
  // END SOLUTION
}

// --- one_pass ------------------------------------------------------------------------------------

/// The sum of squares of some elements: scale² * sum. The scale is the largest of their |x[i]|, so
/// the sum is from 1 to their number, and neither overflows. No elements: a scale of 0.
struct scaled_sum {
  float scale, sum;
};

/// The pair for all elements of two pairs.
struct join_scaled {
  __device__ scaled_sum operator()(scaled_sum a, scaled_sum b) const {
    // TODO(7): keep the larger scale; convert the other pair's sum to it. Watch out for scales
    //          whose quotient makes no sense, 0 / 0 and infinity / infinity, and keep NaN.
    // BEGIN SOLUTION
    // STUB: return a;
    const bool a_leads = a.scale > b.scale || a.scale != a.scale;
    const scaled_sum lead = a_leads ? a : b, other = a_leads ? b : a;
    if (lead.scale == 0 || isinf(lead.scale)) return lead;
    const float ratio = other.scale / lead.scale;  // at most 1
    return {lead.scale, lead.sum + other.sum * ratio * ratio};
    // END SOLUTION
  }
};

/// partial[block] = the pair of the block's elements.
__global__ void sum_scaled(const float* x, std::size_t n, scaled_sum* partial) {
  __shared__ scaled_sum cache[kThreads];

  // TODO(8): the same again. What is the pair of a single element?
  // BEGIN SOLUTION
  scaled_sum thread_sum{0, 0};
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
    thread_sum = join_scaled{}(thread_sum, {fabsf(x[i]), 1});
  const scaled_sum sum = join_block(cache, thread_sum, join_scaled{});
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
  // END SOLUTION
}

// --- the three steps on the host -----------------------------------------------------------------

/// Given: launches kernel(x, n, arguments …, partial), adds its time to `milliseconds`, and returns
/// the values that the blocks have stored, one each.
template <class T, class Kernel, class... Arguments>
std::vector<T> run(Kernel kernel, const device_buffer<float>& x, float& milliseconds,
                   Arguments... arguments) {
  const unsigned blocks = blocks_for(x.size());
  device_buffer<T> partial(blocks);
  const float kernel_ms = time_kernel(
      [&] { kernel<<<blocks, kThreads>>>(x.data(), x.size(), arguments..., partial.data()); });
  const std::vector<T> values = partial.to_vector();
  milliseconds += kernel_ms;
  return values;
}

/// The square root of the sum of all (x[i] / scale)².
double root_of_squares(const device_buffer<float>& x, float scale, float& milliseconds) {
  const std::vector<float> partial = run<float>(sum_squares, x, milliseconds, scale);
  // TODO(3): the blocks' sums are few: add them up here, in double.
  // BEGIN SOLUTION
  // STUB: throw not_written("step by_dot_product", 1);  // 1, 2 and 3 are this step
  double sum = 0;
  for (const float value : partial) sum += static_cast<double>(value);
  return std::sqrt(sum);
  // END SOLUTION
}

double norm_scaled_by_max(const device_buffer<float>& x, float& milliseconds) {
  const std::vector<float> partial = run<float>(find_largest, x, milliseconds);
  // TODO(6): the largest of the blocks' values; then root_of_squares() with it as scale. But not
  //          always: which scales can you not divide by, and what is the norm then?
  // BEGIN SOLUTION
  // STUB: throw not_written("step scaled_by_max", 4);  // 4, 5 and 6 are this step
  float largest = 0;
  for (const float value : partial) largest = larger{}(largest, value);
  if (largest == 0 || !std::isfinite(largest)) return static_cast<double>(largest);
  return static_cast<double>(largest) * root_of_squares(x, largest, milliseconds);
  // END SOLUTION
}

double norm_in_one_pass(const device_buffer<float>& x, float& milliseconds) {
  const std::vector<scaled_sum> partial = run<scaled_sum>(sum_scaled, x, milliseconds);
  // TODO(9): the blocks' pairs, in double: its range is wide enough for the square of any float.
  // BEGIN SOLUTION
  // STUB: throw not_written("step one_pass", 7);  // 7, 8 and 9 are this step
  double sum = 0;
  for (const scaled_sum part : partial)
    sum += static_cast<double>(part.scale) * static_cast<double>(part.scale) *
           static_cast<double>(part.sum);
  return std::sqrt(sum);
  // END SOLUTION
}

}  // namespace

// --- given ---------------------------------------------------------------------------------------

result norm(step version, std::span<const float> x) {
  if (x.empty()) return {};
  const device_buffer<float> device_x(x);
  float milliseconds = 0;
  double value = 0;
  switch (version) {
    case step::by_dot_product:
      value = root_of_squares(device_x, 1, milliseconds);
      break;
    case step::scaled_by_max:
      value = norm_scaled_by_max(device_x, milliseconds);
      break;
    case step::one_pass:
      value = norm_in_one_pass(device_x, milliseconds);
      break;
  }
  return {static_cast<float>(value), milliseconds};
}

}  // namespace lab::euclidean_norm
