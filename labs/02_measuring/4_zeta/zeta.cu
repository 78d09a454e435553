// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 02.4 zeta: a sum of terms that become smaller and smaller, and the order that keeps them.
// Edit:  this file, from TODO(1) to TODO(4). zeta.hpp says what is asked for.
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

/// 1 / j^s.
template <class Number>
__device__ Number term(std::size_t j, unsigned s) {
  // TODO(1): 1 / j, and s - 1 multiplications by it. (Not the other way round: j^s is too large for
  //          a float much earlier than 1 / j^s is too small.)
  return static_cast<Number>(j + s);
}

template <class Number>
__global__ void sum_terms(step which, unsigned s, std::size_t n, Number* partial) {
  const std::size_t thread = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;

  // The terms are dealt out as the strips of 02.3 were. This thread's are those from first + 1 to
  // first + count: a series begins with term 1.
  const std::size_t each = n / threads, more = n % threads;
  const std::size_t first = thread * each + (thread < more ? thread : more);
  const std::size_t count = each + (thread < more ? 1 : 0);

  Number sum = 0;
  // TODO(2): add up this thread's terms: for large_first the first one first, for small_first the
  //          last one first. Mind that an unsigned number is never below 0.
  partial[thread] = sum;
}

/// The sum of the threads' sums, in Number: thread 0 has the largest terms.
template <class Number>
Number sum_partials(step which, const std::vector<Number>& partial) {
  // TODO(4): for large_first thread 0's sum first, for small_first the last thread's.
  throw not_written("adding up the partial sums", 4);
}

template <class Number>
result sum_in(step which, unsigned s, std::size_t terms) {
  device_buffer<Number> device_partial(kPartialSums);
  std::vector<Number> partial(kPartialSums);
  // TODO(3): time a launch of sum_terms with kBlocks blocks of kThreads threads: time_kernel() also
  //          checks whether it was possible. Then copy the partial sums to the host.
  throw not_written("the sum of the terms", 1);  // 1, 2 and 3
}

}  // namespace

result sum(step which, precision type, unsigned s, std::size_t terms) {
  refuse_if(s < 2 || s > kLargestExponent, "zeta: the exponent must be 2 to ", kLargestExponent,
            ", and it is ", s);
  refuse_if(terms > kMostTerms, "zeta: ", terms, " terms are too many; at most ", kMostTerms,
            " are added");
  return type == precision::in_float ? sum_in<float>(which, s, terms)
                                     : sum_in<double>(which, s, terms);
}

}  // namespace lab::zeta
