// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// in_order passes the running total from part to part: each part has an element for it, and a flag.
// A thread that does not get the lock tries again; memory comes from the pool of the device.

#include <cuda_runtime.h>

#include <memory>

#include "given.hpp"

namespace lab::dot_with_lock {
namespace {

/// What the block of part k stores for the block of part k + 1.
struct running {
  float sum;
  unsigned there;
};

struct slot {
  float total;
  int taken;
  unsigned drawn;
};

__global__ void locked(const float* a, const float* b, std::size_t n, slot* all, running*) {
  const float sum = sum_of_part(a, b, n, blockIdx.x);
  if (threadIdx.x == 0) {
    bool done = false;
    while (!done) {
      if (atomicCAS(&all->taken, 0, 1) != 0) continue;
      __threadfence();
      all->total += sum;
      __threadfence();
      atomicSub(&all->taken, 1);
      done = true;
    }
  }
}

__global__ void atomic_add(const float* a, const float* b, std::size_t n, slot* all, running*) {
  const float sum = sum_of_part(a, b, n, blockIdx.x);
  if (threadIdx.x == kThreads / 2) atomicAdd(&all->total, sum);
}

__global__ void in_order(const float* a, const float* b, std::size_t n, slot* all,
                         running* of_parts) {
  __shared__ unsigned ticket;
  if (threadIdx.x == 32) ticket = atomicAdd(&all->drawn, 1U);
  __syncthreads();
  const unsigned part = ticket;
  const float sum = sum_of_part(a, b, n, part);
  if (threadIdx.x != 0) return;
  float before = 0;
  if (part > 0) {
    while (atomicAdd(&of_parts[part - 1].there, 0U) == 0) __nanosleep(32);
    __threadfence();
    before = of_parts[part - 1].sum;
  }
  if (part + 1 == gridDim.x) {
    all->total = before + sum;
  } else {
    of_parts[part].sum = before + sum;
    __threadfence();
    atomicExch(&of_parts[part].there, 1U);
  }
}

struct pool_free {
  void operator()(void* memory) const noexcept {
    CUDA_CHECK_NOTHROW(cudaFreeAsync(memory, nullptr));
  }
};

template <class T>
std::unique_ptr<T, pool_free> from_pool(std::size_t n) {
  void* memory = nullptr;
  CUDA_CHECK(cudaMallocAsync(&memory, n * sizeof(T), nullptr));
  return std::unique_ptr<T, pool_free>(static_cast<T*>(memory));
}

}  // namespace

result dot(step version, std::span<const float> a, std::span<const float> b, unsigned blocks) {
  const std::size_t n = a.size();
  refuse_if(n != b.size(), "dot_with_lock: lengths of ", n, " and ", b.size());
  refuse_if(blocks == 0 || blocks > kMostBlocks, "dot_with_lock: from 1 to ", kMostBlocks,
            " blocks, not ", blocks);
  if (n == 0) return {};
  const auto device_a = from_pool<float>(n), device_b = from_pool<float>(n);
  const auto all = from_pool<slot>(1);
  const auto of_parts = from_pool<running>(blocks);
  CUDA_CHECK(cudaMemcpyAsync(device_a.get(), a.data(), a.size_bytes(), cudaMemcpyDefault, nullptr));
  CUDA_CHECK(cudaMemcpyAsync(device_b.get(), b.data(), b.size_bytes(), cudaMemcpyDefault, nullptr));
  constexpr decltype(&locked) kKernels[] = {locked, atomic_add, in_order};
  const auto kernel = kKernels[static_cast<std::size_t>(version)];
  result out;
  out.kernel_ms = time_kernel(
      [&] {
        kernel<<<blocks, kThreads>>>(device_a.get(), device_b.get(), n, all.get(), of_parts.get());
      },
      [&] {
        CUDA_CHECK(cudaMemsetAsync(all.get(), 0, sizeof(slot), nullptr));
        CUDA_CHECK(cudaMemsetAsync(of_parts.get(), 0, blocks * sizeof(running), nullptr));
      });
  CUDA_CHECK(cudaMemcpy(&out.value, &all->total, sizeof(float), cudaMemcpyDeviceToHost));
  return out;
}

}  // namespace lab::dot_with_lock
