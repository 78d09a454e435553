// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// For tests of device functions that are plain CUDA: the same file runs on the CPU device and,
// compiled with nvcc, on a GPU. What they expect is CUDA's documentation, not either device.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#endif

#include "device_array.hpp"

namespace conformance {

/// Device memory with a host value in it. The value that is returned is the one after all work of
/// the device, in any stream.
template <class T>
class device_array : public device_memory::device_array<T> {
 public:
  using device_memory::device_array<T>::device_array;
  std::vector<T> to_host() const {
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    return device_memory::device_array<T>::to_host();
  }
};

/// On the CPU device: runs `body` with the threads in forward, reverse and random order.
template <class Body>
void in_every_order(Body body) {
#ifdef __CPU_DEVICE__
  using cpu_device::thread_order;
  for (const auto order : {thread_order::forward, thread_order::reverse, thread_order::random}) {
    SCOPED_TRACE(order == thread_order::forward   ? "forward"
                 : order == thread_order::reverse ? "reverse"
                                                  : "random");
    cpu_device::set_thread_order(order, 5);
    body();
  }
  cpu_device::set_thread_order(thread_order::forward);
#else
  body();
#endif
}

/// On the CPU device: runs `body` with streams whose work runs at once, late, and in turns.
template <class Body>
void in_every_policy(Body body) {
#ifdef __CPU_DEVICE__
  using cpu_device::stream_policy;
  for (const auto policy :
       {stream_policy::eager, stream_policy::deferred, stream_policy::interleaved}) {
    SCOPED_TRACE(policy == stream_policy::eager      ? "eager"
                 : policy == stream_policy::deferred ? "deferred"
                                                     : "interleaved");
    cpu_device::set_stream_policy(policy);
    body();
  }
  cpu_device::set_stream_policy(stream_policy::eager);
#else
  body();
#endif
}

template <class T>
struct two {
  T a, b;
};
template <class T>
struct three {
  T a, b, c;
};

template <class Function, class In, class Out>
__global__ void apply(const In* in, Out* out, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = Function::of(in[i]);
}

/// Function::of() of each input, computed by a kernel.
template <class Function, class In>
auto on_device(const std::vector<In>& inputs) {
  using Out = decltype(Function::of(In{}));
  const device_array<In> in(inputs);
  const device_array<Out> out(std::vector<Out>(inputs.size()));
  const int n = static_cast<int>(inputs.size());
  apply<Function, In, Out><<<(n + 127) / 128, 128>>>(in.data(), out.data(), n);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  return out.to_host();
}
/// The same for one input.
template <class Function, class In>
auto one_on_device(In input) {
  return on_device<Function>(std::vector<In>{input})[0];
}

// A function for on_device(): DEVICE_FUNCTION(name, type of the result, type of x, expression)
#define DEVICE_FUNCTION(NAME, OUT, IN, ...)                  \
  struct NAME {                                              \
    static __device__ OUT of(IN x) { return (__VA_ARGS__); } \
  }

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr float kInfF = std::numeric_limits<float>::infinity();
constexpr float kNanF = std::numeric_limits<float>::quiet_NaN();

inline std::uint32_t bits(float x) {
  std::uint32_t b;
  std::memcpy(&b, &x, sizeof b);
  return b;
}
inline std::uint64_t bits(double x) {
  std::uint64_t b;
  std::memcpy(&b, &x, sizeof b);
  return b;
}

/// The same value: zeros with their signs, and all NaN are one.
template <class T>
::testing::AssertionResult same(T actual, T expected) {
  if ((actual != actual && expected != expected) || bits(actual) == bits(expected))
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "got " << actual << ", expected " << expected;
}

/// How far `actual` is from `exact`, in units of the last digit that a T has there.
template <class T>
double ulps(T actual, long double exact) {
  if (actual != actual || exact != exact) return actual != actual && exact != exact ? 0.0 : kInf;
  if (std::isinf(actual))
    return std::fabs(exact) > static_cast<long double>(std::numeric_limits<T>::max()) ? 0.0 : kInf;
  int exponent = 0;
  std::frexp(exact, &exponent);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
  const long double unit = std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits);
  return static_cast<double>(std::fabs(static_cast<long double>(actual) - exact) / unit);
}

/// `count` numbers from low to high, evenly spread, and both ends.
template <class T>
std::vector<T> spread(T low, T high, int count = 20000) {
  std::vector<T> v;
  for (int i = 0; i <= count; ++i)
    v.push_back(static_cast<T>(static_cast<double>(low) +
                               (static_cast<double>(high) - static_cast<double>(low)) * i / count));
  return v;
}

/// Positive numbers of every magnitude from low to high.
template <class T>
std::vector<T> magnitudes(T low, T high, int count = 20000) {
  std::vector<T> v;
  const double from = std::log2(static_cast<double>(low)),
               to = std::log2(static_cast<double>(high));
  for (int i = 0; i <= count; ++i)
    v.push_back(static_cast<T>(std::exp2(from + (to - from) * i / count)));
  v.front() = low;
  v.back() = high;
  return v;
}

/// The largest error of Function over the inputs; where it is goes into the test's message.
template <class Function, class T, class Reference>
void expect_ulps(const char* name, const std::vector<T>& inputs, Reference reference, double most) {
  const auto results = on_device<Function>(inputs);
  using Out = typename decltype(on_device<Function>(inputs))::value_type;
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const double error = ulps<Out>(results[i], reference(static_cast<long double>(inputs[i])));
    if (error > worst || error != error) {
      worst = error;
      at = i;
    }
  }
  // The documented bounds compare with the rounded exact result: half an ulp more from the exact.
  EXPECT_LE(worst, most + 0.5) << name << "(" << inputs[at] << ") gave " << results[at]
                               << ", exact is "
                               << static_cast<double>(
                                      reference(static_cast<long double>(inputs[at])));
}

}  // namespace conformance
