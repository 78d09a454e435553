// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: blocks of 64 threads take a piece of the vector each. The largest
// element is found as a whole number, since the bits of floats without their sign are in the order
// of the floats. In one_pass the scale is a power of two, and what is no number is in the sum.

#include <cuda_runtime.h>

#include <cstdint>
#include <limits>

#include "given.hpp"

namespace lab::euclidean_norm {
namespace {

constexpr unsigned kBlock = 64;
constexpr unsigned kPieces = 320;  // 20480 threads

/// A reduction: what one element contributes, what no element contributes, and how two are joined.
struct squares {
  using value = float;
  __device__ static value nothing() { return 0; }
  __device__ static value of(float x) { return x * x; }
  __device__ static value join(value a, value b) { return a + b; }
};

/// Without its sign bit a float is ordered as its bits are: numbers, infinity, NaN.
struct largest_bits {
  using value = unsigned;
  __device__ static value nothing() { return 0; }
  __device__ static value of(float x) { return __float_as_uint(x) & 0x7FFFFFFFU; }
  __device__ static value join(value a, value b) { return a < b ? b : a; }
};

/// 4^exponent * sum. What is not a number is in the sum, where addition treats it as it should.
struct piece {
  int exponent;
  float sum;
};

struct pieces {
  using value = piece;
  static constexpr int kNone = -10000;  // below every exponent
  __device__ static value nothing() { return {kNone, 0}; }
  __device__ static value of(float x) {
    if (x == 0) return nothing();
    if (isnan(x) || isinf(x)) return {0, fabsf(x)};
    int exponent = 0;
    const float fraction = frexpf(x, &exponent);
    return {exponent, fraction * fraction};
  }
  __device__ static value join(value a, value b) {
    const bool a_leads = a.exponent > b.exponent;
    const value lead = a_leads ? a : b, other = a_leads ? b : a;
    if (other.exponent == kNone) return lead;
    const int apart = lead.exponent - other.exponent;
    // 2^-200 of a sum of fewer than 2^64 is nothing, but an infinity must stay one
    return {lead.exponent, lead.sum + ldexpf(other.sum, -2 * (apart < 100 ? apart : 100))};
  }
};

/// Block p reduces elements p * length to (p + 1) * length - 1.
template <class Reduction>
__global__ void reduce(const float* x, std::size_t n, std::size_t length, float scale,
                       typename Reduction::value* out) {
  __shared__ typename Reduction::value cache[kBlock];
  const std::size_t begin = blockIdx.x * length;
  const std::size_t end = begin + length < n ? begin + length : n;
  typename Reduction::value mine = Reduction::nothing();
  for (std::size_t i = begin + threadIdx.x; i < end; i += kBlock)
    mine = Reduction::join(mine, Reduction::of(x[i] / scale));
  cache[threadIdx.x] = mine;
  for (unsigned apart = 1; apart < kBlock; apart *= 2) {  // neighbours first
    __syncthreads();
    const unsigned at = 2 * apart * threadIdx.x;
    if (at + apart < kBlock) cache[at] = Reduction::join(cache[at], cache[at + apart]);
  }
  if (threadIdx.x == 0) out[blockIdx.x] = cache[0];
}

template <class Reduction>
std::vector<typename Reduction::value> all(const device_buffer<float>& x, float scale, float& ms) {
  const std::size_t length = (x.size() + kPieces - 1) / kPieces;
  const auto blocks = static_cast<unsigned>((x.size() + length - 1) / length);
  device_buffer<typename Reduction::value> out(blocks);
  ms += time_kernel([&] {
    reduce<Reduction><<<blocks, kBlock>>>(x.data(), x.size(), length, scale, out.data());
  });
  return out.to_vector();
}

double by_dot_product(const device_buffer<float>& x, float scale, float& ms) {
  double sum = 0;
  for (const float part : all<squares>(x, scale, ms)) sum += part;
  return std::sqrt(sum);
}

double scaled(const device_buffer<float>& x, float& ms) {
  const auto bits = all<largest_bits>(x, 1, ms);
  const std::uint32_t most = *std::max_element(bits.begin(), bits.end());
  if (most > 0x7F800000U) return std::numeric_limits<double>::quiet_NaN();
  if (most == 0x7F800000U) return std::numeric_limits<double>::infinity();
  if (most == 0) return 0;
  // A subnormal number is its bits times 2^-149.
  const int exponent = static_cast<int>(most >> 23U);
  const double fraction = most & 0x7FFFFFU;
  const double m =
      exponent == 0 ? std::ldexp(fraction, -149) : std::ldexp(fraction + 0x800000, exponent - 150);
  return m * by_dot_product(x, static_cast<float>(m), ms);
}

double one_pass(const device_buffer<float>& x, float& ms) {
  double sum = 0;
  for (const piece& part : all<pieces>(x, 1, ms))
    if (part.exponent != pieces::kNone)
      sum += std::ldexp(static_cast<double>(part.sum), 2 * part.exponent);
  return std::sqrt(sum);
}

}  // namespace

result norm(step version, std::span<const float> x) {
  if (x.empty()) return {};
  const device_buffer<float> on_device(x);
  float ms = 0;
  double value = 0;
  if (version == step::by_dot_product)
    value = by_dot_product(on_device, 1, ms);
  else if (version == step::scaled_by_max)
    value = scaled(on_device, ms);
  else
    value = one_pass(on_device, ms);
  return {static_cast<float>(value), ms};
}

}  // namespace lab::euclidean_norm
