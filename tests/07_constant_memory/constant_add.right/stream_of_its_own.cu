// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: add_each() has a stream of its own for its copies and launches. In
// add(), blocks of 250 threads begin anywhere in a sector.

#include <cuda_runtime.h>

#include "given.hpp"
#include "lab/stream.hpp"

namespace lab::constant_add {
namespace {

constexpr unsigned kThreads = 250;

// It is in constant memory as long as the program runs; 0 until something is copied there.
__constant__ int constant_addend;

__global__ void add_constant(const int* a, const int* b, int* sum, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n)
    sum[i] = static_cast<int>(static_cast<unsigned>(a[i]) + static_cast<unsigned>(b[i]) +
                              static_cast<unsigned>(constant_addend));
}

/// Makes all kernels that are launched from now on see `addend`.
void set_addend(int addend) {
  CUDA_CHECK(cudaMemcpyToSymbol(constant_addend, &addend, sizeof(addend)));
}

/// Given: one launch, with a thread for each element.
void launch(const device_buffer<int>& a, const device_buffer<int>& b, int* sum) {
  const auto blocks = static_cast<unsigned>((a.size() + kThreads - 1) / kThreads);
  add_constant<<<blocks, kThreads>>>(a.data(), b.data(), sum, a.size());
  CUDA_CHECK(cudaGetLastError());
}

/// Launches the kernel once for each addend, without waiting in between.
void launch_each(const device_buffer<int>& a, const device_buffer<int>& b,
                 std::span<const int> addends, int* sums) {
  const lab::stream s;
  for (std::size_t k = 0; k < addends.size(); ++k) {
    // This copy runs after the previous kernel and before the next one: they are in one stream.
    CUDA_CHECK(cudaMemcpyToSymbolAsync(constant_addend, &addends[k], sizeof(int), 0,
                                       cudaMemcpyHostToDevice, s));
    add_constant<<<static_cast<unsigned>((a.size() + 511) / 512), 512, 0, s>>>(
        a.data(), b.data(), sums + k * a.size(), a.size());
    CUDA_CHECK(cudaGetLastError());
  }
  CUDA_CHECK(cudaStreamSynchronize(s));
}

}  // namespace

result add(std::span<const int> a, std::span<const int> b, int addend) {
  require_equal_lengths(a, b);
  if (a.empty()) return {};
  const device_buffer device_a(a), device_b(b);
  device_buffer<int> sum(a.size());

  set_addend(addend);
  const float kernel_ms = time_kernel([&] { launch(device_a, device_b, sum.data()); });
  return {sum.to_vector(), kernel_ms};
}

std::vector<int> add_each(std::span<const int> a, std::span<const int> b,
                          std::span<const int> addends) {
  require_equal_lengths(a, b);
  if (a.empty() || addends.empty()) return {};
  const device_buffer device_a(a), device_b(b);
  device_buffer<int> sums(a.size() * addends.size());
  launch_each(device_a, device_b, addends, sums.data());
  return sums.to_vector();
}

int current_addend() {
  int addend = 0;
  CUDA_CHECK(cudaMemcpyFromSymbol(&addend, constant_addend, sizeof(addend)));
  return addend;
}

}  // namespace lab::constant_add
