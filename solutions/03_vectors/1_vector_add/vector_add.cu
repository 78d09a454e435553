// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 03.1 vector_add: c = a + b, from one loop on the CPU to a grid for vectors of any length.
// Edit:  this file, from TODO(1) to TODO(6); TODO(7) is a bonus. vector_add.hpp says what each step
//        must do.
// Run:   scripts/lab run 03.1 -- --step cpu     (one_thread_per_block, one_block, …)
// Test:  scripts/lab test 03.1
// Hints: scripts/lab hint 03.1                  Chapter: docs/03_vectors.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::vector_add {
namespace {

constexpr unsigned kThreads = 256;  // a block of ceil_division and of the steps after it

// --- cpu: the loop that the kernels parallelize, and the copies that all of them need ------------

void add_on_cpu(std::span<const float> a, std::span<const float> b, std::span<float> sum) {
  // TODO(1): add the vectors, element by element.
  // BEGIN SOLUTION
  // STUB: throw not_written("step cpu", 1);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = a[i] + b[i];
  // END SOLUTION
}

void copy_to_device(std::span<const float> from, float* to) {
  // TODO(2): cudaMemcpy all of `from` to the device memory at `to`. It counts bytes, and you
  //          must tell it the direction. Check what it returns.
  // BEGIN SOLUTION
  // STUB: throw not_written("copying to the device", 2);
  CUDA_CHECK(cudaMemcpy(to, from.data(), from.size_bytes(), cudaMemcpyHostToDevice));
  // END SOLUTION
}

void copy_to_host(const float* from, std::span<float> to) {
  // TODO(2): … and back: fill all of `to` from the device memory at `from`.
  // BEGIN SOLUTION
  // STUB: throw not_written("copying to the host", 2);
  CUDA_CHECK(cudaMemcpy(to.data(), from, to.size_bytes(), cudaMemcpyDeviceToHost));
  // END SOLUTION
}

// --- one_thread_per_block: the loop is gone, the block's index is the element's index ------------

__global__ void one_thread_per_block(const float* a, const float* b, float* sum, std::size_t n) {
  // TODO(3): this block adds the element with its index. Nothing at or past n is accessed.
  // BEGIN SOLUTION
  const std::size_t i = blockIdx.x;
  if (i < n) sum[i] = a[i] + b[i];
  // END SOLUTION
}

void launch_one_thread_per_block(const float* a, const float* b, float* sum, std::size_t n) {
  // TODO(3): launch at_most(limit, n, "blocks in a grid") blocks of one thread. It returns n, but
  //          refuses more than the limit, device_limit(cudaDevAttrMaxGridDimX).
  // BEGIN SOLUTION
  // STUB: throw not_written("step one_thread_per_block", 3);
  const unsigned blocks = at_most(device_limit(cudaDevAttrMaxGridDimX), n, "blocks in a grid");
  one_thread_per_block<<<blocks, 1>>>(a, b, sum, n);
  // END SOLUTION
}

// --- one_block: the same with threads, which are cheaper and can work together -------------------

__global__ void one_block(const float* a, const float* b, float* sum, std::size_t n) {
  // TODO(4): this thread adds the element with its index in the block.
  // BEGIN SOLUTION
  const std::size_t i = threadIdx.x;
  if (i < n) sum[i] = a[i] + b[i];
  // END SOLUTION
}

void launch_one_block(const float* a, const float* b, float* sum, std::size_t n) {
  // TODO(4): launch one block of n threads, and reject an n above the largest block size, which is
  //          small: cudaDevAttrMaxThreadsPerBlock.
  // BEGIN SOLUTION
  // STUB: throw not_written("step one_block", 4);
  const unsigned threads =
      at_most(device_limit(cudaDevAttrMaxThreadsPerBlock), n, "threads in a block");
  one_block<<<1, threads>>>(a, b, sum, n);
  // END SOLUTION
}

// --- ceil_division: blocks and threads together --------------------------------------------------
// Requires ceil(n / 256) <= the largest grid, and a guard: the last block may extend beyond n.

__global__ void ceil_division(const float* a, const float* b, float* sum, std::size_t n) {
  // TODO(5): number the threads of the whole grid 0, 1, 2, … without gaps; each adds the element
  //          with its index. The last block may extend beyond n: its surplus threads do nothing.
  // BEGIN SOLUTION
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) sum[i] = a[i] + b[i];
  // END SOLUTION
}

void launch_ceil_division(const float* a, const float* b, float* sum, std::size_t n) {
  // TODO(5): launch blocks of kThreads threads: enough for n elements, and no more than that.
  // BEGIN SOLUTION
  // STUB: throw not_written("step ceil_division", 5);
  const std::size_t needed = (n + kThreads - 1) / kThreads;  // n / kThreads, rounded up
  const unsigned blocks = at_most(device_limit(cudaDevAttrMaxGridDimX), needed, "blocks in a grid");
  ceil_division<<<blocks, kThreads>>>(a, b, sum, n);
  // END SOLUTION
}

// --- grid_stride: the grid fits the device, and the loop is back, in strides of the grid ---------

__global__ void grid_stride(const float* a, const float* b, float* sum, std::size_t n) {
  // TODO(6): a thread starts at its index in the grid and advances by the number of threads in the
  //          grid. Exactly one thread adds each element, whatever the grid is.
  // BEGIN SOLUTION
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
    sum[i] = a[i] + b[i];
  // END SOLUTION
}

void launch_grid_stride(const float* a, const float* b, float* sum, std::size_t n) {
  // TODO(6): launch as many blocks of kThreads threads as the device runs at once (but no more than
  //          n elements need): its cudaDevAttrMultiProcessorCount times what
  //          cudaOccupancyMaxActiveBlocksPerMultiprocessor returns for this kernel.
  // BEGIN SOLUTION
  // STUB: throw not_written("step grid_stride", 6);
  int blocks_per_processor = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_per_processor, grid_stride,
                                                           static_cast<int>(kThreads), 0));
  const std::size_t resident =
      device_limit(cudaDevAttrMultiProcessorCount) * static_cast<std::size_t>(blocks_per_processor);
  const std::size_t needed = (n + kThreads - 1) / kThreads;
  grid_stride<<<static_cast<unsigned>(std::min(resident, needed)), kThreads>>>(a, b, sum, n);
  // END SOLUTION
}

// --- vectorized: a thread has four neighbouring elements, and moves them all at once -------------
// Requires arrays that begin at multiples of 16 bytes; cudaMalloc's begin at multiples of 256.

constexpr unsigned kVectorWidth = 4;  // floats in a float4

__global__ void vectorized(const float* a, const float* b, float* sum, std::size_t n) {
  // TODO(7, bonus): thread t of the grid has the elements 4t to 4t + 3: it loads them as one float4
  //          of a and one of b, and stores one. If n is not a multiple of 4, one thread has
  //          fewer, and adds those one by one. Nothing at or after n is accessed.
  // BEGIN SOLUTION
  const std::size_t thread = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t first = kVectorWidth * thread;
  if (first + kVectorWidth <= n) {
    const float4 x = reinterpret_cast<const float4*>(a)[thread];
    const float4 y = reinterpret_cast<const float4*>(b)[thread];
    reinterpret_cast<float4*>(sum)[thread] =
        make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
  } else {
    for (std::size_t i = first; i < n; ++i) sum[i] = a[i] + b[i];  // the last n % 4, or none
  }
  // END SOLUTION
}

void launch_vectorized(const float* a, const float* b, float* sum, std::size_t n) {
  // TODO(7, bonus): like launch_ceil_division(). How many elements does a block have now?
  // BEGIN SOLUTION
  // STUB: throw not_written("step vectorized", 7);
  constexpr unsigned kElements = kThreads * kVectorWidth;  // of a block
  const std::size_t needed = (n + kElements - 1) / kElements;
  const unsigned blocks = at_most(device_limit(cudaDevAttrMaxGridDimX), needed, "blocks in a grid");
  vectorized<<<blocks, kThreads>>>(a, b, sum, n);
  // END SOLUTION
}

}  // namespace

result add(step version, std::span<const float> a, std::span<const float> b) {
  const std::array launches{launch_one_thread_per_block, launch_one_block, launch_ceil_division,
                            launch_grid_stride, launch_vectorized};
  return host_part_of_add({add_on_cpu, copy_to_device, copy_to_host, launches}, version, a, b);
}

}  // namespace lab::vector_add
