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
    // BEGIN SOLUTION
    // STUB: default:
    // STUB:   return 0 * x;
    case function::exponential:
      return __expf(x);
    case function::exponential10:
      return __exp10f(x);
    case function::logarithm:
      return __logf(x);
    case function::power:
      return __powf(x, kExponent);
      // END SOLUTION
  }
  return 0;  // there are no others
}

__device__ float single(function f, float x) {
  // TODO(2): the same in float with all its digits. These names end in f, too. Nothing in here
  //          may be a double: neither a function nor a constant.
  // BEGIN SOLUTION
  // STUB: return 0 * x;
  switch (f) {
    case function::sine:
      return sinf(x);
    case function::exponential:
      return expf(x);
    case function::exponential10:
      return exp10f(x);
    case function::logarithm:
      return logf(x);
    case function::power:
      return powf(x, kExponent);
  }
  return 0;  // there are no others
  // END SOLUTION
}

__device__ double full(function f, double x) {
  // TODO(3): the same in double.
  // BEGIN SOLUTION
  // STUB: return 0 * x;
  switch (f) {
    case function::sine:
      return sin(x);
    case function::exponential:
      return exp(x);
    case function::exponential10:
      return exp10(x);
    case function::logarithm:
      return log(x);
    case function::power:
      return pow(x, static_cast<double>(kExponent));
  }
  return 0;  // there are no others
  // END SOLUTION
}

/// Element k of `values` becomes f(x(first + k)). Any grid is right.
template <precision p>
__global__ void fill(function f, std::size_t first, number<p>* values, std::size_t n) {
  // TODO(4): a grid-stride loop, as in 03.1. For each element: its number, first + k; from that
  //          the degrees (one more for the logarithm); from those x, in float; then the function
  //          above that belongs to p (`if constexpr (p == precision::intrinsic) …`).
  //          Invariant: numbers beyond 2^32 still have the right degrees.
  // BEGIN SOLUTION
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t k = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; k < n; k += stride) {
    const auto degrees =
        static_cast<unsigned>((first + k) % 360) + (f == function::logarithm ? 1U : 0U);
    const float x = static_cast<float>(degrees) * kRadiansPerDegree;
    if constexpr (p == precision::intrinsic)
      values[k] = intrinsic(f, x);
    else if constexpr (p == precision::single)
      values[k] = single(f, x);
    else
      values[k] = full(f, static_cast<double>(x));
  }
  // END SOLUTION
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
  // BEGIN SOLUTION
  // STUB: throw not_written("measure", 5);
  errors found;
  long double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    long double error = std::fabs(values[i] - exact[i]);
    if (std::isnan(error)) error = std::numeric_limits<long double>::infinity();
    sum += error;
    if (error > found.max) found = {0, static_cast<double>(error), i};
  }
  if (!values.empty()) found.mean = static_cast<double>(sum / static_cast<double>(values.size()));
  return found;
  // END SOLUTION
}

}  // namespace lab::math_functions
