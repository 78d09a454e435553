// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// four_elements: each of the last one to three elements has its own thread.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::roofline {
namespace {

/// The element after all rounds. y never leaves its register.
__device__ float advance(float y, unsigned rounds) {
  unsigned r = rounds;
  while (r-- != 0) y = std::fma(y, kScale, kShift);
  return y;
}

__global__ void one_element(job j) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < j.n) j.output[i] = advance(j.input[i], j.rounds);
}

__global__ void four_elements(job j) {
  const std::size_t i = 4 * (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x);
  // The last one to three elements go to the last threads of the grid, one each.
  const std::size_t whole = j.n / 4 * 4;
  if (i >= whole) {
    const std::size_t e = whole + (i - whole) / 4;
    if (e < j.n) j.output[e] = advance(__ldg(j.input + e), j.rounds);
    return;
  }
  float4 y = __ldcs(reinterpret_cast<const float4*>(j.input + i));
#pragma unroll 16
  for (unsigned r = 0; r < j.rounds; ++r) {
    y.x = fmaf(kScale, y.x, kShift);
    y.y = fmaf(kScale, y.y, kShift);
    y.z = fmaf(kScale, y.z, kShift);
    y.w = fmaf(kScale, y.w, kShift);
  }
  *reinterpret_cast<float4*>(j.output + i) = y;
}

void launch(step version, const job& j) {
  if (version == step::one_element) one_element<<<blocks_for(j.n), kThreads>>>(j);
  if (version == step::four_elements) four_elements<<<blocks_for(j.n / 4 + j.n % 4), kThreads>>>(j);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace

result apply(step version, std::span<const float> values, unsigned rounds) {
  return host_part_of_apply(values, rounds, [&](const job& j) { launch(version, j); });
}

work work_of(std::size_t n, unsigned rounds) {
  const auto of_n = static_cast<double>(n);
  return {2.0 * rounds * of_n, 2.0 * sizeof(float) * of_n};
}

work least_work(course kernel, std::size_t n) {
  const auto of_n = static_cast<double>(n);
  const double product = 2 * of_n * of_n * of_n;
  switch (kernel) {
    case course::vector_add:
      return {of_n, 12 * of_n};
    case course::dot_product:
      return {2 * of_n, 8 * of_n};
    case course::heat_transfer:
      return {7 * of_n, 12 * of_n};
    case course::tile_16:
      return {product, 4 * product / 16};
    case course::tile_32:
      return {product, 4 * product / 32};
    case course::tile_128:
      return {product, 4 * product / 128};
  }
  return {};
}

ceilings roof_of(std::span<const measurement> kernels) {
  require_measurements(kernels);
  ceilings roof;
  for (const measurement& each : kernels) {
    const double seconds = each.ms / 1e3;
    roof.bytes_per_second = std::max(roof.bytes_per_second, each.done.bytes / seconds);
    roof.operations_per_second =
        std::max(roof.operations_per_second, each.done.operations / seconds);
  }
  return roof;
}

point locate(const work& done, double ms, const ceilings& roof) {
  require_place(done, ms, roof);
  point p;
  p.intensity = done.bytes > 0 ? done.operations / done.bytes : INFINITY;
  const double slope = p.intensity * roof.bytes_per_second;
  p.limit = slope < roof.operations_per_second ? bound::memory : bound::arithmetic;
  p.most_per_second = std::min(slope, roof.operations_per_second);
  p.least_ms = 1e3 * std::max(done.bytes / roof.bytes_per_second,
                              done.operations / roof.operations_per_second);
  if (ms > 0) {
    p.reached_per_second = done.operations / (ms / 1e3);
    p.share = p.least_ms / ms;
  }
  return p;
}

}  // namespace lab::roofline
