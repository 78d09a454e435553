// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Unified memory in place of copies between buffers. cuBLAS adds slices of k to C, with a beta of
// 1 from the second one on. The kernel has tiles of 32 x 32, and blocks of 32 x 8 threads.

#include <cublasXt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <memory>

#include "given.hpp"

namespace lab::matmul_race {
namespace {

constexpr unsigned kSide = 32, kRows = 8;

__global__ void four_rows(const float* a, const float* b, float* c, shape size) {
  __shared__ float of_a[kSide][kSide + 1], of_b[kSide][kSide];
  const std::size_t column = std::size_t{blockIdx.x} * kSide + threadIdx.x;
  const std::size_t top = std::size_t{blockIdx.y} * kSide;
  float sums[kSide / kRows] = {};
  for (std::size_t begin = 0; begin < size.k; begin += kSide) {
    for (unsigned y = threadIdx.y; y < kSide; y += kRows) {
      const std::size_t x = begin + threadIdx.x;
      of_a[y][threadIdx.x] = top + y < size.m && x < size.k ? a[(top + y) * size.k + x] : 0;
      of_b[y][threadIdx.x] =
          begin + y < size.k && column < size.n ? b[(begin + y) * size.n + column] : 0;
    }
    __syncthreads();
    for (unsigned i = 0; i < kSide; ++i)
      for (unsigned r = 0; r < kSide / kRows; ++r)
        sums[r] += of_a[threadIdx.y + r * kRows][i] * of_b[i][threadIdx.x];
    __syncthreads();
  }
  for (unsigned r = 0; r < kSide / kRows; ++r)
    if (const std::size_t row = top + threadIdx.y + r * kRows; row < size.m && column < size.n)
      c[row * size.n + column] = sums[r];
}

struct give_back {
  void operator()(float* memory) const { CUDA_CHECK_NOTHROW(cudaFree(memory)); }
};
std::unique_ptr<float, give_back> managed(std::size_t n) {
  void* memory = nullptr;
  CUDA_CHECK(cudaMallocManaged(&memory, n * sizeof(float)));
  return std::unique_ptr<float, give_back>(static_cast<float*>(memory));
}

void lap_on_device(std::span<const float> a, std::span<const float> b, shape size,
                   const cublas_handle* handle, result& out) {
  host_timer total;
  const auto of_a = managed(a.size()), of_b = managed(b.size()), of_c = managed(size.m * size.n);
  std::copy(a.begin(), a.end(), of_a.get());
  std::copy(b.begin(), b.end(), of_b.get());
  event_timer timer;
  timer.start();
  if (handle == nullptr) {
    const dim3 grid(static_cast<unsigned>((size.n + kSide - 1) / kSide),
                    static_cast<unsigned>((size.m + kSide - 1) / kSide));
    four_rows<<<grid, dim3(kSide, kRows)>>>(of_a.get(), of_b.get(), of_c.get(), size);
    CUDA_CHECK(cudaGetLastError());
  } else {
    const int m = static_cast<int>(size.m), n = static_cast<int>(size.n),
              k = static_cast<int>(size.k), slice = 512;
    for (int begin = 0; begin < k; begin += slice) {
      const float one = 1, first = begin == 0 ? 0 : 1;
      CUBLAS_CHECK(cublasSgemm(*handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, std::min(slice, k - begin),
                               &one, of_b.get() + static_cast<std::size_t>(begin) * size.n, n,
                               of_a.get() + begin, k, &first, of_c.get(), n));
    }
  }
  timer.stop();
  CUDA_CHECK(cudaDeviceSynchronize());
  out.c.assign(of_c.get(), of_c.get() + size.m * size.n);
  out.total_ms.push_back(static_cast<float>(total.milliseconds()));
  out.product_ms.push_back(timer.milliseconds());
}

void lap_on_host(std::span<const float> a, std::span<const float> b, shape size,
                 const cublasxt_handle* handle, result& out) {
  const host_timer total;
  out.c = std::vector<float>(size.m * size.n);
  const float one = 1, zero = 0;
  if (handle == nullptr)
    host_matmul(a, b, out.c, size.m, size.n, size.k);
  else
    CUBLAS_CHECK(cublasXtSgemm(*handle, CUBLAS_OP_N, CUBLAS_OP_N, size.n, size.m, size.k, &one,
                               b.data(), size.n, a.data(), size.k, &zero, out.c.data(), size.n));
  out.total_ms.push_back(static_cast<float>(total.milliseconds()));
}

}  // namespace

result race(racer contender, std::span<const float> a, std::span<const float> b, shape size,
            std::size_t laps) {
  return host_part_of_race(lap_on_device, lap_on_host, contender, a, b, size, laps);
}

}  // namespace lab::matmul_race
