// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 03.2 math_functions: three ways to compute a sine, and how many digits each of them loses.
// Edit:  this nearly empty file: TODO(1) to TODO(3). math_functions.hpp: the contract.
// Run:   scripts/lab run 03.2 -- --function sin --plot errors.svg
// Test:  scripts/lab test 03.2
// Hints: scripts/lab hint 03.2                     Chapter: docs/03_vectors.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::math_functions {
namespace {

// TODO(1): three device functions, one for each precision, that return the function f of x.
//          Nothing in the float versions may be a double: neither a function nor a constant. All
//          threads take the same path through a switch, so it costs next to nothing. The exponent
//          of the power is kExponent.
// BEGIN SOLUTION
// All threads take the same path through these switches, so they cost next to nothing.

__device__ float intrinsic(function f, float x) {
  switch (f) {
    case function::sine:
      return __sinf(x);
    case function::exponential:
      return __expf(x);
    case function::exponential10:
      return __exp10f(x);
    case function::logarithm:
      return __logf(x);
    case function::power:
      return __powf(x, kExponent);
  }
  return 0;  // there are no others
}

__device__ float single(function f, float x) {
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
}

__device__ double full(function f, double x) {
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
}
// END SOLUTION

// TODO(2): a kernel template for a precision p, whose element k is f(x(first + k)), of type
//          number<p>: a grid-stride loop, as in 03.1. Invariant: numbers beyond 2^32 still have the
//          right degrees. evaluate() below launches it.
// BEGIN SOLUTION
/// Sets element k of `values` to f(x(first + k)). Works with any grid.
template <precision p>
__global__ void fill(function f, std::size_t first, number<p>* values, std::size_t n) {
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
}
// END SOLUTION

}  // namespace

result evaluate(function f, precision p, std::size_t first, std::size_t n) {
  // TODO(2): host_part_of_evaluate() of given.hpp checks, allocates and copies, and calls your
  //          lambda (auto each, unsigned blocks, auto* values) for the launch; each.value is the
  //          precision.
  // BEGIN SOLUTION
  // STUB: throw not_written("evaluate", 1);
  return host_part_of_evaluate(p, first, n, [&](auto each, unsigned blocks, auto* values) {
    fill<each.value><<<blocks, kThreads>>>(f, first, values, n);
  });
  // END SOLUTION
}

errors measure(std::span<const double> values, std::span<const long double> exact) {
  // TODO(3): on the host: reject what the contract rejects. The mean of the absolute errors, the
  //          largest, and where that is. A NaN is neither larger nor smaller than anything, so `>`
  //          does not notice it. The contract says how to count it.
  // BEGIN SOLUTION
  // STUB: throw not_written("measure", 3);
  refuse_if(values.size() != exact.size(), "math_functions: ", values.size(),
            " values cannot be compared with ", exact.size());
  errors found;
  long double sum = 0, largest = 0;  // a double may round down, and an equal error would be larger
  for (std::size_t i = 0; i < values.size(); ++i) {
    long double error = std::fabs(values[i] - exact[i]);
    if (std::isnan(error)) error = std::numeric_limits<long double>::infinity();
    sum += error;
    if (error > largest) {
      largest = error;
      found.worst = i;
    }
  }
  found.max = static_cast<double>(largest);
  if (!values.empty()) found.mean = static_cast<double>(sum / static_cast<double>(values.size()));
  return found;
  // END SOLUTION
}

}  // namespace lab::math_functions
