// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: one kernel for all block sizes, with tiles in dynamic shared memory; a
// stream and events of its own; of a wrong product the row and the column are named.

#include <cuda_runtime.h>

#include "given.hpp"
#include "lab/stream.hpp"

namespace lab::scaling_study {
namespace {

__global__ void multiply_dynamic(const float* a, const float* b, float* c, shape size) {
  extern __shared__ float tiles[];
  const unsigned side = blockDim.x;
  float* const of_a = tiles;
  float* const of_b = tiles + side * side;
  const std::size_t row = std::size_t{blockIdx.y} * side + threadIdx.y;
  const std::size_t column = std::size_t{blockIdx.x} * side + threadIdx.x;
  const unsigned mine = threadIdx.y * side + threadIdx.x;
  float sum = 0;
  for (std::size_t first = 0; first < size.k; first += side) {
    of_a[mine] = element(a, size.m, size.k, row, first + threadIdx.x);
    of_b[mine] = element(b, size.k, size.n, first + threadIdx.y, column);
    __syncthreads();
    for (unsigned i = 0; i < side; ++i)
      sum += of_a[threadIdx.y * side + i] * of_b[i * side + threadIdx.x];
    __syncthreads();
  }
  if (row < size.m && column < size.n) c[row * size.n + column] = sum;
}

struct own_event {
  own_event() { CUDA_CHECK(cudaEventCreate(&handle)); }
  ~own_event() { CUDA_CHECK_NOTHROW(cudaEventDestroy(handle)); }
  own_event(const own_event&) = delete;
  own_event& operator=(const own_event&) = delete;
  cudaEvent_t handle = nullptr;
};

struct bench {
  const stream& in;
  const device_buffer<float>&a, &b;
  device_buffer<float>& c;
  shape size;
  unsigned block;

  void launch() const {
    const dim3 grid(static_cast<unsigned>((size.n + block - 1) / block),
                    static_cast<unsigned>((size.m + block - 1) / block));
    multiply_dynamic<<<grid, dim3(block, block), 2 * block * block * sizeof(float), in>>>(
        a.data(), b.data(), c.data(), size);
    CUDA_CHECK(cudaGetLastError());
  }

  float sample(unsigned launches) const {
    const own_event begin, end;
    CUDA_CHECK(cudaEventRecord(begin.handle, in));
    for (unsigned i = 0; i < launches; ++i) launch();
    CUDA_CHECK(cudaEventRecord(end.handle, in));
    CUDA_CHECK(cudaEventSynchronize(end.handle));
    float milliseconds = 0;
    CUDA_CHECK(cudaEventElapsedTime(&milliseconds, begin.handle, end.handle));
    return milliseconds;
  }
};

void compare(const std::vector<float>& c, const problem& wanted, unsigned block) {
  const auto [m, n, k] = wanted.size;
  for (std::size_t i = 0; i < c.size(); ++i)
    if (c[i] != wanted.c[i])
      throw wrong_product("scaling_study: " + std::to_string(m) + " x " + std::to_string(k) +
                          " times " + std::to_string(k) + " x " + std::to_string(n) +
                          " in blocks of " + std::to_string(block) + " x " + std::to_string(block) +
                          " is wrong, first in row " + std::to_string(i / n) + ", column " +
                          std::to_string(i % n));
}

}  // namespace

std::vector<row> study(std::span<const problem> problems, std::span<const unsigned> blocks,
                       plan options) {
  require_sensible(problems, blocks, options);
  std::vector<row> rows;
  const stream own;
  for (const problem& each : problems) {
    const device_buffer<float> a(each.a), b(each.b);
    for (const unsigned block : blocks) {
      device_buffer<float> c(each.c.size());
      const bench measured{own, a, b, c, each.size, block};
      measured.launch();
      CUDA_CHECK(cudaStreamSynchronize(own));
      compare(c.to_vector(), each, block);

      row next;
      next.size = each.size;
      next.block = block;
      next.operations = 2.0 * static_cast<double>(each.size.m) * static_cast<double>(each.size.n) *
                        static_cast<double>(each.size.k);
      next.launches = 1;
      while (next.sample_ms.size() < options.samples) {
        const float milliseconds = measured.sample(next.launches);
        if (milliseconds < options.sample_ms) {
          next.launches *= 2;
          next.sample_ms.clear();
        } else {
          next.sample_ms.push_back(milliseconds);
        }
      }
      next.ms = summarize(next.sample_ms).median_ms / next.launches;
      next.gflops = next.operations / (next.ms * 1e6);
      rows.push_back(std::move(next));
    }
  }
  return rows;
}

}  // namespace lab::scaling_study
