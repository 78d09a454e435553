// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Managed memory, and one array: each element is overwritten by its thread. four_elements: loads of
// integers with the bits of floats; the first threads take the remaining elements.

#include <cuda_runtime.h>

#include <memory>

#include "given.hpp"

namespace lab::roofline {
namespace {

/// A thread for each element, in blocks of 32 x 8.
__global__ void one_element(float* y, std::size_t n, unsigned rounds) {
  const unsigned in_block = threadIdx.y * blockDim.x + threadIdx.x;
  const std::size_t i = std::size_t{gridDim.x - 1 - blockIdx.x} * kThreads + in_block;
  if (i >= n) return;
  float mine = y[i];
#pragma unroll 16
  for (unsigned r = rounds; r > 0; --r) mine = fmaf(kScale, mine, kShift);
  y[i] = mine;
}

__global__ void four_elements(float* y, std::size_t n, unsigned rounds) {
  const std::size_t t = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x, rest = n % 4;
  if (t < rest) {
    float mine = y[n - rest + t];
    for (unsigned r = 0; r < rounds; ++r) mine = fmaf(kScale, mine, kShift);
    y[n - rest + t] = mine;
  } else if (t - rest < n / 4) {
    int4* const locate = reinterpret_cast<int4*>(y) + (t - rest);
    const int4 bits = *locate;
    float a = __int_as_float(bits.x), b = __int_as_float(bits.y), c = __int_as_float(bits.z),
          d = __int_as_float(bits.w);
#pragma unroll 4
    for (unsigned r = 0; r < rounds; ++r) {
      a = fmaf(kScale, a, kShift);
      b = fmaf(kScale, b, kShift);
      c = fmaf(kScale, c, kShift);
      d = fmaf(kScale, d, kShift);
    }
    *locate = make_int4(__float_as_int(a), __float_as_int(b), __float_as_int(c), __float_as_int(d));
  }
}

struct free_memory {
  void operator()(float* memory) const { CUDA_CHECK_NOTHROW(cudaFree(memory)); }
};

}  // namespace

result apply(step version, std::span<const float> values, unsigned rounds) {
  const std::size_t n = values.size();
  require_at_most(cudaDevAttrMaxGridDimX, (n + kThreads - 1) / kThreads, "blocks");
  if (n == 0) return {};
  float* memory = nullptr;
  CUDA_CHECK(cudaMallocManaged(&memory, n * sizeof(float)));
  const std::unique_ptr<float, free_memory> y(memory);
  const auto restore = [&] {
    CUDA_CHECK(cudaDeviceSynchronize());  // the host writes
    std::copy(values.begin(), values.end(), memory);
  };
  const auto launch = [&] {
    if (version == step::one_element)
      one_element<<<blocks_for(n), dim3(32, kThreads / 32)>>>(memory, n, rounds);
    if (version == step::four_elements)
      four_elements<<<blocks_for(n / 4 + n % 4), kThreads>>>(memory, n, rounds);
    CUDA_CHECK(cudaGetLastError());
  };
  const float ms = time_kernel(launch, restore);
  CUDA_CHECK(cudaDeviceSynchronize());
  return {std::vector<float>(memory, memory + n), ms};
}

work work_of(std::size_t n, unsigned rounds) {
  const auto of_n = static_cast<double>(n);
  return {static_cast<double>(rounds) * 2 * of_n, of_n * (sizeof(float) + sizeof(float))};
}

work least_work(course kernel, std::size_t n) {
  struct row {
    course kernel;
    int power;
    double operations, bytes;  // for n = 1
  };
  constexpr row kRows[] = {
      {course::vector_add, 1, 1, 12},    {course::dot_product, 1, 2, 8},
      {course::heat_transfer, 1, 7, 12}, {course::tile_16, 3, 2, 8.0 / 16},
      {course::tile_32, 3, 2, 8.0 / 32}, {course::tile_128, 3, 2, 8.0 / 128},
  };
  work least;
  for (const row& each : kRows)
    if (each.kernel == kernel) {
      double times = 1;
      for (int i = 0; i < each.power; ++i) times *= static_cast<double>(n);
      least = {each.operations * times, each.bytes * times};
    }
  return least;
}

ceilings roof_of(std::span<const measurement> kernels) {
  require_measurements(kernels);
  const auto slower = [](double work::*member) {
    return [member](const measurement& a, const measurement& b) {
      return a.done.*member / a.ms < b.done.*member / b.ms;
    };
  };
  const measurement &copy = *std::max_element(kernels.begin(), kernels.end(), slower(&work::bytes)),
                    &busy = *std::max_element(kernels.begin(), kernels.end(),
                                              slower(&work::operations));
  return {copy.done.bytes * 1000 / copy.ms, busy.done.operations * 1000 / busy.ms};
}

point locate(const work& done, double ms, const ceilings& roof) {
  require_place(done, ms, roof);
  const double ridge = roof.operations_per_second / roof.bytes_per_second;
  point p;
  p.intensity = done.operations / done.bytes;
  if (p.intensity < ridge) {
    p.limit = bound::memory;
    p.most_per_second = p.intensity * roof.bytes_per_second;
    p.least_ms = done.bytes / roof.bytes_per_second * 1000;
  } else {
    p.limit = bound::arithmetic;
    p.most_per_second = roof.operations_per_second;
    p.least_ms = done.operations / roof.operations_per_second * 1000;
  }
  if (ms == 0) return p;
  p.reached_per_second = done.operations / ms * 1000;
  p.share = p.least_ms / ms;
  return p;
}

}  // namespace lab::roofline
