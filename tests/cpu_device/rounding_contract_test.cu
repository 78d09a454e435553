// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Kernels compiled with contraction (LAB_CONTRACT): a*b+c is rounded once, as nvcc has it. What
// must round twice shows there, and says so with __fmul_rn().

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>

#include "device_array.hpp"

namespace {

using device_memory::device_array;

// (1 + e) * (1 - e) = 1 - e * e, which a float rounds to 1: the fused form keeps what is lost.
__global__ void plain(float a, float b, float* out) { *out = a * b - 1.0F; }
__global__ void twice(float a, float b, float* out) { *out = __fmul_rn(a, b) - 1.0F; }
__global__ void twice_too(float a, float b, float* out) { *out = __fsub_rn(a * b, 1.0F); }
__global__ void once(float a, float b, float* out) { *out = fmaf(a, b, -1.0F); }

template <class Kernel>
float result_of(Kernel kernel) {
  const device_array<float> out(1, 0);
  const float e = std::ldexp(1.0F, -13);
  kernel<<<1, 1>>>(1.0F + e, 1.0F - e, out.data());
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  return out.to_host()[0];
}

TEST(Contraction, RoundsAProductAndASumOnce) {
  const float fused = -std::ldexp(1.0F, -26);
  EXPECT_EQ(result_of(once), fused);
  EXPECT_EQ(result_of(plain), fused);
}

TEST(Contraction, LeavesAProductAloneThatIsRounded) {
  EXPECT_EQ(result_of(twice), 0.0F);
  EXPECT_EQ(result_of(twice_too), 0.0F);
}

}  // namespace
