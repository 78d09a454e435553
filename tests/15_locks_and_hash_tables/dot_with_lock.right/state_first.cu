// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// in_order: a block stores its sum at the index of its part, and then draws a ticket. The block
// that draws the last one finds all sums there, and adds them in the order of the parts. The lock
// is a ticket lock, too.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::dot_with_lock {
namespace {

__global__ void locked(const float* a, const float* b, std::size_t n, meeting_place* all) {
  const float sum = sum_of_part(a, b, n, blockIdx.x);
  if (threadIdx.x != 0) return;
  const unsigned ticket = atomicAdd(&all->drawn, 1U);
  while (atomicAdd(&all->admitted, 0U) != ticket) __nanosleep(20);
  __threadfence();
  all->total += sum;
  __threadfence();
  atomicAdd(&all->admitted, 1U);
}

__global__ void atomic_add(const float* a, const float* b, std::size_t n, meeting_place* all) {
  const float sum = sum_of_part(a, b, n, blockIdx.x);
  if (threadIdx.x == 0) atomicAdd(&all->total, sum);
}

__global__ void in_order(const float* a, const float* b, std::size_t n, float* sums,
                         meeting_place* all) {
  const float sum = sum_of_part(a, b, n, blockIdx.x);
  if (threadIdx.x != 0) return;
  sums[blockIdx.x] = sum;
  __threadfence();  // a block that sees that this ticket has been drawn also sees the sum
  if (atomicAdd(&all->drawn, 1U) + 1 < gridDim.x) return;
  __threadfence();  // and this block reads the sums after it has seen the tickets
  float total = 0;
  for (unsigned part = 0; part < gridDim.x; ++part) total += sums[part];
  all->total = total;
}

}  // namespace

result dot(step version, std::span<const float> a, std::span<const float> b, unsigned blocks) {
  const std::size_t n = a.size();
  refuse_if(n != b.size(), "dot_with_lock: lengths of ", n, " and ", b.size());
  refuse_if(blocks == 0 || blocks > kMostBlocks, "dot_with_lock: from 1 to ", kMostBlocks,
            " blocks, not ", blocks);
  if (n == 0) return {};
  const device_buffer device_a(a), device_b(b);
  device_buffer<float> sums(blocks);
  device_buffer<meeting_place> all(1);
  const float kernel_ms = time_kernel(
      [&] {
        if (version == step::locked)
          locked<<<blocks, kThreads>>>(device_a.data(), device_b.data(), n, all.data());
        if (version == step::atomic_add)
          atomic_add<<<blocks, kThreads>>>(device_a.data(), device_b.data(), n, all.data());
        if (version == step::in_order)
          in_order<<<blocks, kThreads>>>(device_a.data(), device_b.data(), n, sums.data(),
                                         all.data());
      },
      [&] { CUDA_CHECK(cudaMemset(all.data(), 0, all.size_bytes())); });
  return {all.to_vector().front().total, kernel_ms};
}

}  // namespace lab::dot_with_lock
