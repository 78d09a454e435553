// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 03.2 math_functions: three ways to compute a sine, and what each of them costs in digits.
// Edit:  this file, from TODO(1) to TODO(5). math_functions.hpp says what is asked for.
// Run:   scripts/lab run 03.2 -- --function sin --plot errors.svg
// Test:  scripts/lab test 03.2
// Hints: scripts/lab hint 03.2                     Chapter: docs/03_vectors.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::math_functions {
namespace {

// All threads take the same way through these switches, so they cost next to nothing.

__device__ float intrinsic(function f, float x) {
  // TODO(1): the function of x by the device's fast intrinsic, whose name begins with two
  //          underscores and ends in f. `sine` is shown. The power takes kExponent.
  switch (f) {
    case function::sine:
      return __sinf(x);
    default:
      return 0 * x;
  }
  return 0;  // there are no others
}

__device__ float single(function f, float x) {
  // TODO(2): the same in float with all its digits. These names end in f, too. Nothing in here
  //          may be a double: neither a function nor a constant.
  return 0 * x;
}

__device__ double full(function f, double x) {
  // TODO(3): the same in double.
  return 0 * x;
}

/// Element k of `values` becomes f(x(first + k)). Any grid is right.
template <precision p>
__global__ void fill(function f, std::size_t first, number<p>* values, std::size_t n) {
  // TODO(4): a grid-stride loop, as in 03.1. For each element: its number, first + k; from that
  //          the degrees (one more for the logarithm); from those x, in float; then the function
  //          above that belongs to p (`if constexpr (p == precision::intrinsic) …`).
  //          Invariant: numbers beyond 2^32 still have the right degrees.
}

}  // namespace

result evaluate(function f, precision p, std::size_t first, std::size_t n) {
  return host_part_of_evaluate(p, first, n, [&](auto each, unsigned blocks, auto* values) {
    fill<each.value><<<blocks, kThreads>>>(f, first, values, n);
  });
}

errors measure(std::span<const double> values, std::span<const long double> exact) {
  refuse_if(values.size() != exact.size(), "math_functions: ", values.size(),
            " values cannot be compared with ", exact.size());
  // TODO(5): on the host: the mean of the absolute errors, the largest, and where that is.
  //          A NaN is neither larger nor smaller than anything, so it slips through `>`. The
  //          contract says what becomes of it.
  throw not_written("measure", 5);
}

}  // namespace lab::math_functions
