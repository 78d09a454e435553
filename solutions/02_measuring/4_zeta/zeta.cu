// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 02.4 zeta: a sum of ever smaller terms, and the order of addition that does not lose them.
// Edit:  this nearly empty file: TODO(1) to TODO(4). zeta.hpp has the contract.
// Run:   scripts/lab run 02.4
// Test:  scripts/lab test 02.4
// Hints: scripts/lab hint 02.4                     Chapter: docs/02_measuring.md

#include <cuda_runtime.h>

#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"
#include "zeta.hpp"

namespace lab::zeta {
namespace {

// Number is float or double: the compiler makes a kernel for each.

// TODO(1): a device function: 1 / j^s as 1 / j, and s - 1 multiplications by it. (Not the other
//          way round: j^s becomes too large for a float long before 1 / j^s becomes too small.)
// BEGIN SOLUTION
/// 1 / j^s.
template <class Number>
__device__ Number term(std::size_t j, unsigned s) {
  const Number x = 1 / static_cast<Number>(j);
  Number power = x;
  for (unsigned k = 1; k < s; ++k) power *= x;
  return power;
}
// END SOLUTION

// TODO(2): the kernel. The terms are distributed like the strips of 02.3: each thread adds up a
//          run of neighbouring terms, from term 1 on, and stores its sum. For large_first it adds
//          the first one first, for small_first the last one first. Watch out: an unsigned number
//          is never below 0.
// BEGIN SOLUTION
template <class Number>
__global__ void sum_terms(step version, unsigned s, std::size_t n, Number* partial) {
  const std::size_t thread = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;

  // The terms are distributed like the strips of 02.3. This thread has those from first + 1 to
  // first + count: a series begins with term 1.
  const std::size_t each = n / threads, more = n % threads;
  const std::size_t first = thread * each + (thread < more ? thread : more);
  const std::size_t count = each + (thread < more ? 1 : 0);

  Number sum = 0;
  if (version == step::large_first) {
    for (std::size_t j = first + 1; j <= first + count; ++j) sum += term<Number>(j, s);
  } else {
    for (std::size_t j = first + count; j > first; --j) sum += term<Number>(j, s);
  }
  partial[thread] = sum;
}
// END SOLUTION

// TODO(3): the host code: device memory for the partial sums, a launch of kBlocks blocks of
//          kThreads threads in a time_kernel(), which also checks for launch errors, and a copy of
//          the partial sums to the host. Add them in Number: for large_first thread 0's sum first,
//          for small_first the last thread's.
// BEGIN SOLUTION
/// The sum of the threads' sums, in Number: thread 0 has the largest terms.
template <class Number>
Number sum_partials(step version, const std::vector<Number>& partial) {
  Number sum = 0;
  const std::size_t n = partial.size();
  for (std::size_t i = 0; i < n; ++i) sum += partial[version == step::large_first ? i : n - 1 - i];
  return sum;
}

template <class Number>
result sum_in(step version, unsigned s, std::size_t terms) {
  device_buffer<Number> device_partial(kPartialSums);
  std::vector<Number> partial(kPartialSums);
  const float kernel_ms = time_kernel(
      [&] { sum_terms<<<kBlocks, kThreads>>>(version, s, terms, device_partial.data()); });
  CUDA_CHECK(cudaMemcpy(partial.data(), device_partial.data(), partial.size() * sizeof(Number),
                        cudaMemcpyDeviceToHost));
  return {static_cast<double>(sum_partials(version, partial)), kernel_ms};
}
// END SOLUTION

}  // namespace

result sum(step version, precision type, unsigned s, std::size_t terms) {
  // TODO(4): reject what the contract rejects (lab/refuse_if.hpp). Then the sum in float or in
  //          double.
  // BEGIN SOLUTION
  // STUB: throw not_written("the sum of the terms", 1);
  refuse_if(s < 2 || s > kLargestExponent, "zeta: the exponent must be 2 to ", kLargestExponent,
            ", and it is ", s);
  refuse_if(terms > kMostTerms, "zeta: ", terms, " terms are too many; at most ", kMostTerms,
            " are added");
  return type == precision::in_float ? sum_in<float>(version, s, terms)
                                     : sum_in<double>(version, s, terms);
  // END SOLUTION
}

}  // namespace lab::zeta
