// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 03.4 ptx_and_sass: reading the code that the compiler generates for a kernel.
// Edit:  this file, from TODO(1) to TODO(5): answers, no kernels. ptx_and_sass.hpp has
//        the contract, listings.hpp what you read; the program shows it, too.
// Run:   scripts/lab run 03.4 -- --show ptx_add
// Test:  scripts/lab test 03.4
// Hints: scripts/lab hint 03.4                     Chapter: docs/03_vectors.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::ptx_and_sass {

// --- what you have read --------------------------------------------------------------------------

counts add_in_ptx() {
  // TODO(1): count in the PTX of ptx_add. A load of a kernel parameter is not a load from global
  //          memory, and an addition of addresses is not an addition of floats.
  // BEGIN SOLUTION
  // STUB: throw not_written("ptx_add in PTX", 1);
  return {.global_loads = 2, .global_stores = 1, .float_additions = 1, .float_fused = 0};
  // END SOLUTION
}

counts saxpy_in_ptx() {
  // TODO(2): the same for ptx_saxpy. Where are its multiplication and its addition?
  // BEGIN SOLUTION
  // STUB: throw not_written("ptx_saxpy in PTX", 2);
  return {.global_loads = 2, .global_stores = 1, .float_additions = 0, .float_fused = 1};
  // END SOLUTION
}

roles roles_in_add() {
  // TODO(3): find in the PTX of ptx_add: i, the result of `i < n`, the address of sum[i], and the
  //          number of bytes from one element to the next.
  // BEGIN SOLUTION
  // STUB: throw not_written("the roles of the registers", 3);
  return {.index = "%r1",
          .guard = "%p1",
          .guard_leaves = true,
          .sum_address = "%rd10",
          .element_bytes = 4};
  // END SOLUTION
}

counts add_in_sass() {
  // TODO(4): ptx_add again, in SASS. The names are different: LDG, STG, FADD, FFMA.
  // BEGIN SOLUTION
  // STUB: throw not_written("ptx_add in SASS", 4);
  return {.global_loads = 2, .global_stores = 1, .float_additions = 1, .float_fused = 0};
  // END SOLUTION
}

counts saxpy_in_sass() {
  // TODO(5): ptx_saxpy in SASS. IMAD multiplies and adds, too. Which values?
  // BEGIN SOLUTION
  // STUB: throw not_written("ptx_saxpy in SASS", 5);
  return {.global_loads = 2, .global_stores = 1, .float_additions = 0, .float_fused = 1};
  // END SOLUTION
}

}  // namespace lab::ptx_and_sass

// --- given: the kernels --------------------------------------------------------------------------
// Without extern "C" their names in the listings would be "mangled": _Z7ptx_addPKfS0_Pfi.

extern "C" __global__ void ptx_add(const float* a, const float* b, float* sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] = a[i] + b[i];
}

extern "C" __global__ void ptx_saxpy(float s, const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = s * x[i] + y[i];
}

namespace lab::ptx_and_sass {
std::vector<float> add(std::span<const float> a, std::span<const float> b) {
  return host_part_of_add(a, b, [](int blocks, const float* a, const float* b, float* sum, int n) {
    ptx_add<<<blocks, kThreads>>>(a, b, sum, n);
  });
}

std::vector<float> saxpy(float s, std::span<const float> x, std::span<const float> y) {
  return host_part_of_saxpy(x, y, [=](int blocks, const float* x, float* y, int n) {
    ptx_saxpy<<<blocks, kThreads>>>(s, x, y, n);
  });
}

}  // namespace lab::ptx_and_sass
