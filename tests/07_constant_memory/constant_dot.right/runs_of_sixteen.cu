// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: each thread adds up 16 neighbours in double, blocks are of 64 threads
// that add to one sum by atomics; and in step constant_memory a goes to the device piece by piece,
// too.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::constant_dot {
namespace {

constexpr unsigned kThreads = 64;
constexpr std::size_t kRun = 16;  // products of a thread

__constant__ float piece_of_b[kMostInAPass];

struct in_array {
  const float* elements;
  __device__ float at(std::size_t i) const { return elements[i]; }
};
struct in_constant {
  __device__ float at(std::size_t i) const { return piece_of_b[i]; }
};

template <class B>
__global__ void add_runs(const float* a, B b, std::size_t n, double* sum) {
  const std::size_t first =
      (static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kRun;
  double mine = 0;
  for (std::size_t i = first; i < first + kRun && i < n; ++i)
    mine += static_cast<double>(a[i]) * static_cast<double>(b.at(i));
  if (first < n) atomicAdd(sum, mine);
}

template <class B>
void launch(const float* a, B b, std::size_t n, double* sum, event_timer& timer) {
  const auto blocks = static_cast<unsigned>((n + kThreads * kRun - 1) / (kThreads * kRun));
  timer.start();
  add_runs<<<blocks, kThreads>>>(a, b, n, sum);
  CUDA_CHECK(cudaGetLastError());
  timer.stop();
}

}  // namespace

result dot(step version, std::span<const float> a, std::span<const float> b) {
  const std::size_t n = a.size();
  refuse_if(n != b.size(), "constant_dot: a has ", n, " elements and b has ", b.size());
  if (n == 0) return {};
  device_buffer<double> sum(1);
  CUDA_CHECK(cudaMemset(sum.data(), 0, sizeof(double)));

  std::vector<event_timer> timers;
  if (version == step::global_memory) {
    const device_buffer device_a(a), device_b(b);
    launch(device_a.data(), in_array{device_b.data()}, n, sum.data(), timers.emplace_back());
  } else {
    device_buffer<float> piece_of_a(std::min(n, kMostInAPass));
    for (std::size_t first = 0; first < n; first += kMostInAPass) {
      const std::size_t count = std::min(kMostInAPass, n - first), bytes = count * sizeof(float);
      CUDA_CHECK(cudaMemcpy(piece_of_a.data(), &a[first], bytes, cudaMemcpyHostToDevice));
      CUDA_CHECK(cudaMemcpyToSymbol(piece_of_b, &b[first], bytes));
      launch(piece_of_a.data(), in_constant{}, count, sum.data(), timers.emplace_back());
    }
  }
  result made{static_cast<float>(sum.to_vector()[0]), timers.size(), 0};
  for (const event_timer& timer : timers) made.kernel_ms += timer.milliseconds();
  return made;
}

}  // namespace lab::constant_dot
