// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// One kernel for both steps: a template whose parameter is the number of neighbours that a thread
// has, which it loads as a struct aligned to its size. The model compares times and not rates.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::roofline {
namespace {

/// Aligned to its size, so that a load or a store of it is one instruction.
template <int N>
struct alignas(N * sizeof(float)) neighbours {
  float y[N];
};

template <int N>
__device__ void advance(float (&y)[N], unsigned rounds) {
  constexpr unsigned kUnrolled = 8;
  const auto round = [&] {
#pragma unroll
    for (int k = 0; k < N; ++k) y[k] = __fmaf_rn(y[k], kScale, kShift);
  };
  for (; rounds >= kUnrolled; rounds -= kUnrolled) {
#pragma unroll
    for (unsigned i = 0; i < kUnrolled; ++i) round();
  }
  for (; rounds > 0; --rounds) round();
}

template <int N>
__global__ void many_rounds(job j) {
  const std::size_t first = N * (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x);
  if (first + N <= j.n) {
    auto mine = *reinterpret_cast<const neighbours<N>*>(j.input + first);
    advance(mine.y, j.rounds);
    *reinterpret_cast<neighbours<N>*>(j.output + first) = mine;
    return;
  }
  for (std::size_t i = first; i < j.n; ++i) {
    float mine[] = {j.input[i]};
    advance(mine, j.rounds);
    j.output[i] = mine[0];
  }
}

template <int N>
void launch(const job& j) {
  constexpr unsigned kOfABlock = 128;
  const std::size_t threads = (j.n + N - 1) / N;
  many_rounds<N><<<static_cast<unsigned>((threads + kOfABlock - 1) / kOfABlock), kOfABlock>>>(j);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace

result apply(step version, std::span<const float> values, unsigned rounds) {
  return host_part_of_apply(values, rounds, [&](const job& j) {
    version == step::one_element ? launch<1>(j) : launch<4>(j);
  });
}

work work_of(std::size_t n, unsigned rounds) {
  const work of_one{2.0 * rounds, 8};
  return {of_one.operations * static_cast<double>(n), of_one.bytes * static_cast<double>(n)};
}

work least_work(course kernel, std::size_t n) {
  const auto elements = static_cast<double>(n);
  const auto floats = [&](double operations, double moved) {
    return work{operations * elements, moved * sizeof(float) * elements};
  };
  const auto tiles = [&](double side) {
    const double operations = 2 * std::pow(elements, 3);
    return work{operations, operations / (side / sizeof(float))};
  };
  switch (kernel) {
    case course::vector_add:
      return floats(1, 3);
    case course::dot_product:
      return floats(2, 2);
    case course::heat_transfer:
      return floats(7, 3);
    case course::tile_16:
      return tiles(16);
    case course::tile_32:
      return tiles(32);
    case course::tile_128:
      break;
  }
  return tiles(128);
}

ceilings roof_of(std::span<const measurement> kernels) {
  require_measurements(kernels);
  const auto best = [&](double work::*member) {
    double most = 0;  // per millisecond
    for (const measurement& each : kernels) most = std::max(most, each.done.*member / each.ms);
    return 1000 * most;
  };
  return {best(&work::bytes), best(&work::operations)};
}

point locate(const work& done, double ms, const ceilings& roof) {
  require_place(done, ms, roof);
  const double of_bytes = 1000 * done.bytes / roof.bytes_per_second,
               of_operations = 1000 * done.operations / roof.operations_per_second;
  point p;
  p.limit = of_bytes > of_operations ? bound::memory : bound::arithmetic;
  p.least_ms = std::max(of_bytes, of_operations);
  p.intensity = done.operations / done.bytes;  // IEEE: something / 0 is infinite
  p.most_per_second = 1000 * done.operations / p.least_ms;
  if (ms > 0) p.reached_per_second = 1000 * done.operations / ms;
  if (ms > 0) p.share = p.least_ms / ms;
  return p;
}

}  // namespace lab::roofline
