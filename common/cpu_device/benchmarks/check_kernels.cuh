// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The kernels of check_benchmark. Two files include this one: the first is compiled as every build
// compiles kernels, the second as the check build does.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace {

constexpr unsigned kN = 512;  // of the matrices; also tiles of 16 x 16

__global__ void tiled(const float* a, const float* b, float* c) {
  __shared__ float ta[16][16], tb[16][16];
  const unsigned row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (unsigned t = 0; t < kN; t += 16) {
    ta[threadIdx.y][threadIdx.x] = a[row * kN + t + threadIdx.x];
    tb[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * kN + column];
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += ta[threadIdx.y][k] * tb[k][threadIdx.x];
    __syncthreads();
  }
  c[row * kN + column] = sum;
}

__global__ void add(const float* a, const float* b, float* c) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  c[i] = a[i] + b[i];
}

__global__ void dot(const float* a, const float* b, float* partial) {
  __shared__ float cache[256];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  cache[threadIdx.x] = a[i] * b[i];
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) cache[threadIdx.x] += cache[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) partial[blockIdx.x] = cache[0];
}

__global__ void histogram(const unsigned* data, unsigned* bins) {
  __shared__ unsigned mine[256];
  mine[threadIdx.x] = 0;
  __syncthreads();
  for (unsigned i = 0; i < 16; ++i)
    atomicAdd(&mine[data[(blockIdx.x * 16 + i) * 256 + threadIdx.x] % 256], 1U);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}

}  // namespace

/// Device memory of the kernels: kN * kN elements each.
struct check_operands {
  float *a, *b, *c;
};

#define CPU_DEVICE_CHECK_KERNELS(SUFFIX)                                              \
  void tiled_##SUFFIX(check_operands m) {                                             \
    tiled<<<dim3(kN / 16, kN / 16), dim3(16, 16)>>>(m.a, m.b, m.c);                   \
  }                                                                                   \
  void add_##SUFFIX(check_operands m) { add<<<kN * kN / 256, 256>>>(m.a, m.b, m.c); } \
  void dot_##SUFFIX(check_operands m) { dot<<<kN * kN / 256, 256>>>(m.a, m.b, m.c); } \
  void histogram_##SUFFIX(check_operands m) {                                         \
    histogram<<<kN * kN / 4096, 256>>>(reinterpret_cast<const unsigned*>(m.a),        \
                                       reinterpret_cast<unsigned*>(m.c));             \
  }
