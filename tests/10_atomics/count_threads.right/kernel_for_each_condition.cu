// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: a kernel for each condition, made from a type, and one more that sets
// the counter to 0.

#include <cuda_runtime.h>

#include <memory>

#include "given.hpp"

namespace lab::count_threads {
namespace {

using number = unsigned long long;

struct everybody {
  __device__ bool operator()(number, number) const { return true; }
};
struct lower {
  __device__ bool operator()(number i, number j) const { return !(i < j); }
};
struct diagonal {
  __device__ bool operator()(number i, number j) const { return i == j; }
};
struct white {
  __device__ bool operator()(number i, number j) const { return ((i ^ j) & 1) == 0; }
};

__global__ void clear(number* counter) { *counter = 0; }

template <class Condition>
__global__ void register_yourself(number* counter) {
  const number row = threadIdx.y + number{blockDim.y} * blockIdx.y;
  const number column = threadIdx.x + number{blockDim.x} * blockIdx.x;
  if (Condition{}(row, column)) atomicAdd(counter, number{1});
}

struct free_device {
  void operator()(number* memory) const { CUDA_CHECK_NOTHROW(cudaFree(memory)); }
};

template <class Condition>
result census(const shape& grid) {
  number* memory = nullptr;
  CUDA_CHECK(cudaMalloc(&memory, sizeof(number)));
  const std::unique_ptr<number, free_device> counter(memory);
  result out;
  out.kernel_ms = time_kernel(
      [&] {
        register_yourself<Condition>
            <<<dim3(grid.blocks.x, grid.blocks.y), dim3(grid.threads.x, grid.threads.y)>>>(
                counter.get());
      },
      [&] {
        clear<<<1, 1>>>(counter.get());
        CUDA_CHECK(cudaGetLastError());
      });
  CUDA_CHECK(cudaMemcpy(&out.count, counter.get(), sizeof(number), cudaMemcpyDeviceToHost));
  return out;
}

}  // namespace

result count(condition criterion, const shape& grid) {
  require_possible(grid);
  if (std::uint64_t{grid.blocks.x} * grid.blocks.y == 0 || grid.threads.x * grid.threads.y == 0)
    return {};
  if (criterion == condition::every_thread) return census<everybody>(grid);
  if (criterion == condition::on_or_below_diagonal) return census<lower>(grid);
  if (criterion == condition::on_diagonal) return census<diagonal>(grid);
  return census<white>(grid);
}

}  // namespace lab::count_threads
