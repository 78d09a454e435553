// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 07.1 constant_add: a number that all threads read, and that changes between launches.
// Edit:  this file, from TODO(1) to TODO(4). constant_add.hpp has the contract.
// Run:   scripts/lab run 07.1 -- --addend 1000
// Test:  scripts/lab test 07.1
// Hints: scripts/lab hint 07.1             Chapter: docs/07_constant_memory.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::constant_add {
namespace {

constexpr unsigned kThreads = 256;

// It is in constant memory as long as the program runs; 0 until something is copied there.
__constant__ int constant_addend;

__global__ void add_constant(const int* a, const int* b, int* sum, std::size_t n) {
  // TODO(1): this thread's element: a + b + the constant, in unsigned arithmetic, which wraps
  //          around. The last block may extend beyond n: its surplus threads access nothing.
}

/// Makes all kernels that are launched from now on see `addend`.
void set_addend(int addend) {
  // TODO(2): copy it to constant_addend. cudaMemcpyToSymbol takes the variable itself, the
  //          address of the value, and the number of bytes.
  throw not_written("add()", 1);  // 1 and 2 are this function
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
  // TODO(3): for each addend set_addend() and launch(). Each launch sees its own addend, and has
  //          its own a.size() ints in `sums`, in the order of the launches.
  throw not_written("add_each()", 3);
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
  // TODO(4): copy it back: cudaMemcpyFromSymbol.
  throw not_written("current_addend()", 4);
}

}  // namespace lab::constant_add
