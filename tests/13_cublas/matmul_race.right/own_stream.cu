// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// All work of the device is in a stream, including copies. A thread of the kernel computes two
// elements of C, in tiles of 16 x 32. A, B and C are parts of one allocation, and the host's
// product is a plain loop.

#include <cublasXt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include "given.hpp"
#include "lab/stream.hpp"

namespace lab::matmul_race {
namespace {

constexpr unsigned kWide = 2 * kTile;

/// Blocks of kTile x kTile threads; a block computes kTile rows of kWide columns.
__global__ void two_columns(const float* a, const float* b, float* c, shape size) {
  __shared__ float slice_a[kTile][kTile];
  __shared__ float slice_b[kTile][kWide];
  const unsigned x = threadIdx.x, y = threadIdx.y;
  const std::size_t row = std::size_t{blockIdx.y} * kTile + y;
  const std::size_t left = std::size_t{blockIdx.x} * kWide + x, right = left + kTile;
  float sum_left = 0, sum_right = 0;
  for (std::size_t begin = 0; begin < size.k; begin += kTile) {
    const std::size_t in_a = begin + x, in_b = begin + y;
    slice_a[y][x] = row < size.m && in_a < size.k ? a[row * size.k + in_a] : 0.0F;
    slice_b[y][x] = left < size.n && in_b < size.k ? b[in_b * size.n + left] : 0.0F;
    slice_b[y][x + kTile] = right < size.n && in_b < size.k ? b[in_b * size.n + right] : 0.0F;
    __syncthreads();
    for (unsigned i = 0; i < kTile; ++i) {
      sum_left += slice_a[y][i] * slice_b[i][x];
      sum_right += slice_a[y][i] * slice_b[i][x + kTile];
    }
    __syncthreads();
  }
  if (row < size.m && left < size.n) c[row * size.n + left] = sum_left;
  if (row < size.m && right < size.n) c[row * size.n + right] = sum_right;
}

void lap_on_device(std::span<const float> a, std::span<const float> b, shape size,
                   const cublas_handle* handle, result& out) {
  const host_timer clock;
  const stream work;
  std::vector<float> c(size.m * size.n);
  device_buffer<float> matrices(a.size() + b.size() + c.size());
  float *const on_a = matrices.data(), *const on_b = on_a + a.size(), *const on_c = on_b + b.size();
  CUDA_CHECK(cudaMemcpyAsync(on_a, a.data(), a.size_bytes(), cudaMemcpyHostToDevice, work));
  CUDA_CHECK(cudaMemcpyAsync(on_b, b.data(), b.size_bytes(), cudaMemcpyHostToDevice, work));
  event_timer timer;
  timer.start(work);
  if (handle == nullptr) {
    const dim3 grid(static_cast<unsigned>((size.n + kWide - 1) / kWide),
                    static_cast<unsigned>((size.m + kTile - 1) / kTile));
    two_columns<<<grid, dim3(kTile, kTile), 0, work>>>(on_a, on_b, on_c, size);
    CUDA_CHECK(cudaGetLastError());
  } else {
    CUBLAS_CHECK(cublasSetStream(*handle, work));
    const int m = static_cast<int>(size.m), n = static_cast<int>(size.n),
              k = static_cast<int>(size.k);
    const float alpha = 1.0F, beta = 0.0F;
    CUBLAS_CHECK(cublasSgemm(*handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &alpha, on_b, n, on_a, k,
                             &beta, on_c, n));
  }
  timer.stop();
  CUDA_CHECK(
      cudaMemcpyAsync(c.data(), on_c, c.size() * sizeof(float), cudaMemcpyDeviceToHost, work));
  CUDA_CHECK(cudaStreamSynchronize(work));
  if (handle != nullptr) CUBLAS_CHECK(cublasSetStream(*handle, nullptr));
  out.c = std::move(c);
  out.product_ms.push_back(timer.milliseconds());
  out.total_ms.push_back(static_cast<float>(clock.milliseconds()));
}

void lap_on_host(std::span<const float> a, std::span<const float> b, shape size,
                 const cublasxt_handle* handle, result& out) {
  const host_timer clock;
  std::vector<float> c(size.m * size.n, 0.0F);
  if (handle == nullptr) {
    // The plain loops, in an order that reads B row by row.
    for (std::size_t row = 0; row < size.m; ++row)
      for (std::size_t i = 0; i < size.k; ++i)
        for (std::size_t column = 0; column < size.n; ++column)
          c[row * size.n + column] += a[row * size.k + i] * b[i * size.n + column];
  } else {
    const float alpha = 1.0F, beta = 0.0F;
    CUBLAS_CHECK(cublasXtSetBlockDim(*handle, 512));
    CUBLAS_CHECK(cublasXtSgemm(*handle, CUBLAS_OP_N, CUBLAS_OP_N, size.n, size.m, size.k, &alpha,
                               b.data(), size.n, a.data(), size.k, &beta, c.data(), size.n));
  }
  out.total_ms.push_back(static_cast<float>(clock.milliseconds()));
  out.c = std::move(c);
}

}  // namespace

result race(racer contender, std::span<const float> a, std::span<const float> b, shape size,
            std::size_t laps) {
  return host_part_of_race(lap_on_device, lap_on_host, contender, a, b, size, laps);
}

}  // namespace lab::matmul_race
