// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: a thread computes four neighbouring values, each function has kernels
// of its own, and measure() goes over the errors three times.

#include <cuda_runtime.h>

#include <numeric>

#include "given.hpp"

namespace lab::math_functions {
namespace {

template <function f, precision p>
__device__ number<p> value_at(float x) {
  constexpr bool fast = p == precision::intrinsic, all = p == precision::full;
  if constexpr (f == function::sine) {
    if constexpr (fast)
      return __sinf(x);
    else if constexpr (all)
      return sin(double{x});
    else
      return sinf(x);
  } else if constexpr (f == function::exponential) {
    if constexpr (fast)
      return __expf(x);
    else if constexpr (all)
      return exp(double{x});
    else
      return expf(x);
  } else if constexpr (f == function::exponential10) {
    if constexpr (fast)
      return __exp10f(x);
    else if constexpr (all)
      return exp10(double{x});
    else
      return exp10f(x);
  } else if constexpr (f == function::logarithm) {
    if constexpr (fast)
      return __logf(x);
    else if constexpr (all)
      return log(double{x});
    else
      return logf(x);
  } else {
    if constexpr (fast)
      return __powf(x, kExponent);
    else if constexpr (all)
      return pow(double{x}, double{kExponent});
    else
      return powf(x, kExponent);
  }
}

constexpr unsigned kEach = 4, kBlock = 128;

/// `start` is the degree of element 0. Thread t has elements 4t to 4t + 3, and then those of a
/// thread that is a whole grid further on.
template <function f, precision p>
__global__ void neighbours(unsigned start, std::size_t n, number<p>* values) {
  const std::size_t threads = std::size_t{blockDim.x} * gridDim.x;
  for (std::size_t t = threadIdx.x + std::size_t{blockDim.x} * blockIdx.x;
       t < (n + kEach - 1) / kEach; t += threads) {
    const std::size_t begin = t * kEach;
    unsigned degree = (start + static_cast<unsigned>(begin % 360)) % 360;
    for (std::size_t k = begin; k < n && k < begin + kEach; ++k) {
      const unsigned d = f == function::logarithm ? degree + 1 : degree;
      values[k] = value_at<f, p>(static_cast<float>(d) * kRadiansPerDegree);
      if (++degree == 360) degree = 0;
    }
  }
}

template <function f, precision p>
result run(std::size_t first, std::size_t n) {
  const auto blocks =
      static_cast<unsigned>(std::min<std::size_t>((n - 1) / (kEach * kBlock) + 1, 1 << 20));
  device_buffer<number<p>> values(n);
  result found;
  found.kernel_ms = time_kernel([&] {
    neighbours<f, p><<<blocks, kBlock>>>(static_cast<unsigned>(first % 360), n, values.data());
  });
  const std::vector<number<p>> all = values.to_vector();
  found.values.assign(all.begin(), all.end());
  return found;
}

template <function f>
result run(precision p, std::size_t first, std::size_t n) {
  return p == precision::intrinsic ? run<f, precision::intrinsic>(first, n)
         : p == precision::single  ? run<f, precision::single>(first, n)
                                   : run<f, precision::full>(first, n);
}

}  // namespace

result evaluate(function f, precision p, std::size_t first, std::size_t n) {
  if (n > std::numeric_limits<std::size_t>::max() - first)
    throw invalid_input("math_functions: too far");
  if (n == 0) return {};
  switch (f) {
    case function::sine:
      return run<function::sine>(p, first, n);
    case function::exponential:
      return run<function::exponential>(p, first, n);
    case function::exponential10:
      return run<function::exponential10>(p, first, n);
    case function::logarithm:
      return run<function::logarithm>(p, first, n);
    case function::power:
      return run<function::power>(p, first, n);
  }
  throw invalid_input("math_functions: no such function");
}

errors measure(std::span<const double> values, std::span<const long double> exact) {
  if (values.size() != exact.size()) throw invalid_input("math_functions: lengths differ");
  if (values.empty()) return {};
  std::vector<long double> off(values.size());
  std::transform(values.begin(), values.end(), exact.begin(), off.begin(),
                 [](double value, long double truth) {
                   const long double d = std::fabs(value - truth);
                   return d >= 0 ? d : std::numeric_limits<long double>::infinity();
                 });
  const auto worst = std::max_element(off.begin(), off.end());
  const auto count = static_cast<long double>(off.size());
  return {static_cast<double>(std::accumulate(off.begin(), off.end(), 0.0L) / count),
          static_cast<double>(*worst), static_cast<std::size_t>(worst - off.begin())};
}

}  // namespace lab::math_functions
