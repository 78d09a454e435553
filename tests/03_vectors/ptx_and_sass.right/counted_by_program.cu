// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: the first counts are those of a loop over the listing, and blocks have
// other sizes.

#include <cuda_runtime.h>

#include "given.hpp"
#include "listings.hpp"

namespace lab::ptx_and_sass {

// --- what you have read --------------------------------------------------------------------------

counts add_in_ptx() {
  const std::string text = kAddPtx;
  const auto count = [&](const std::string& word) {
    int n = 0;
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
      ++n;
    return n;
  };
  return {count("ld.global"), count("st.global"), count("add.f32"), count("fma.rn.f32")};
}

counts saxpy_in_ptx() {
  return {.global_loads = 2, .global_stores = 1, .float_additions = 0, .float_fused = 1};
}

roles roles_in_add() {
  return {.index = "%r1",
          .guard = "%p1",
          .guard_leaves = true,
          .sum_address = "%rd10",
          .element_bytes = 4};
}

counts add_in_sass() {
  return {.global_loads = 2, .global_stores = 1, .float_additions = 1, .float_fused = 0};
}

counts saxpy_in_sass() {
  return {.global_loads = 2, .global_stores = 1, .float_additions = 0, .float_fused = 1};
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
  return host_part_of_add(a, b,
                          [](int /*blocks*/, const float* a, const float* b, float* sum, int n) {
                            ptx_add<<<(n + 31) / 32, 32>>>(a, b, sum, n);
                          });
}

std::vector<float> saxpy(float s, std::span<const float> x, std::span<const float> y) {
  return host_part_of_saxpy(x, y, [=](int /*blocks*/, const float* x, float* y, int n) {
    ptx_saxpy<<<(n + 1023) / 1024, 1024>>>(s, x, y, n);
  });
}

}  // namespace lab::ptx_and_sass
