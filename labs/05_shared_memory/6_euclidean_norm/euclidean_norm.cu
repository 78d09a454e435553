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
  return join(value, value);
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
}

// --- scaled_by_max -------------------------------------------------------------------------------

/// The larger of two numbers; NaN if one of them is NaN. (fmaxf would return the other one.)
struct larger {
  __host__ __device__ float operator()(float a, float b) const {
    // TODO(4): every comparison with NaN is false. Which of a and b is the result then?
    return a > b ? a : b;
  }
};

/// partial[block] = the largest |x[i]|.
__global__ void find_largest(const float* x, std::size_t n, float* partial) {
  __shared__ float cache[kThreads];

  // TODO(5): like sum_squares(), with another join. What does a thread without elements contribute,
  //          so that it changes nothing?
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
    return a;
  }
};

/// partial[block] = the pair of the block's elements.
__global__ void sum_scaled(const float* x, std::size_t n, scaled_sum* partial) {
  __shared__ scaled_sum cache[kThreads];

  // TODO(8): the same again. What is the pair of a single element?
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
  throw not_written("step by_dot_product", 1);  // 1, 2 and 3 are this step
}

double norm_scaled_by_max(const device_buffer<float>& x, float& milliseconds) {
  const std::vector<float> partial = run<float>(find_largest, x, milliseconds);
  // TODO(6): the largest of the blocks' values; then root_of_squares() with it as scale. But not
  //          always: which scales can you not divide by, and what is the norm then?
  throw not_written("step scaled_by_max", 4);  // 4, 5 and 6 are this step
}

double norm_in_one_pass(const device_buffer<float>& x, float& milliseconds) {
  const std::vector<scaled_sum> partial = run<scaled_sum>(sum_scaled, x, milliseconds);
  // TODO(9): the blocks' pairs, in double: its range is wide enough for the square of any float.
  throw not_written("step one_pass", 7);  // 7, 8 and 9 are this step
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
