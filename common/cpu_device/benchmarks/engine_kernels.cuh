// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The kernels that the CPU device and HIP-CPU both run. The file that includes this one has
// included cuda_runtime.h or HIP's header before.
#pragma once

#include <cstddef>

namespace {

// --- barriers -----------------------------------------------------------------------------------

__global__ void barriers(int count) {
  for (int i = 0; i < count; ++i) __syncthreads();
}

// --- vector add, 16 M ---------------------------------------------------------------------------

constexpr std::size_t kVector = std::size_t{1} << 24;

__global__ void add(const float* a, const float* b, float* c, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

// --- Julia set, 1000 x 1000 ---------------------------------------------------------------------

constexpr int kImage = 1000;

__host__ __device__ inline int julia(int x, int y) {
  constexpr float kHalf = kImage / 2;
  float re = 1.5F * (kHalf - static_cast<float>(x)) / kHalf;
  float im = 1.5F * (kHalf - static_cast<float>(y)) / kHalf;
  int i = 0;
  for (; i < 200; ++i) {
    const float next = re * re - im * im - 0.8F;
    im = im * re + re * im + 0.156F;
    re = next;
    if (re * re + im * im > 1000.0F) break;
  }
  return i;
}

__global__ void julia_kernel(int* out) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x < kImage && y < kImage) out[y * kImage + x] = julia(x, y);
}

// --- shared-memory dot product, 4096 blocks of 256 ----------------------------------------------

constexpr std::size_t kDotBlocks = 4096;

__global__ void dot(const float* a, const float* b, float* partial) {
  __shared__ float cache[256];
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  cache[threadIdx.x] = a[i] * b[i];
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) cache[threadIdx.x] += cache[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) partial[blockIdx.x] = cache[0];
}

// --- tiled matrix product, 512 x 512 ------------------------------------------------------------

constexpr int kN = 512;

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

// The same with threadIdx read once: HIP-CPU computes it anew, with divisions, at each use.
__global__ void tiled_read_once(const float* a, const float* b, float* c) {
  __shared__ float ta[16][16], tb[16][16];
  const unsigned x = threadIdx.x, y = threadIdx.y;
  const unsigned row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  for (unsigned t = 0; t < kN; t += 16) {
    ta[y][x] = a[row * kN + t + x];
    tb[y][x] = b[(t + y) * kN + column];
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += ta[y][k] * tb[k][x];
    __syncthreads();
  }
  c[row * kN + column] = sum;
}

}  // namespace
