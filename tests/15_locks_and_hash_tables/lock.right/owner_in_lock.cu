// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The lock contains the number of the thread that holds it, and is a __device__ variable. Lanes
// wait for their turn in cooperative groups.

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cuda/atomic>

#include "given.hpp"

namespace lab::lock {
namespace {

namespace cg = cooperative_groups;

__device__ unsigned long long holder;  // 0: no thread
__device__ tally counted;

__device__ unsigned long long name_of_thread() { return cg::this_grid().thread_rank() + 1; }

__device__ void count_in(unsigned amount) {
  while (atomicCAS(&holder, 0ULL, name_of_thread()) != 0) {
  }
  __threadfence();
  enter(&counted, amount);
  __threadfence();
  atomicCAS(&holder, name_of_thread(), 0ULL);
}

__device__ void count_in_by_atomic_ref() {
  const cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> lock(holder);
  unsigned long long nobody = 0;
  while (!lock.compare_exchange_strong(nobody, name_of_thread(), cuda::memory_order_acquire))
    nobody = 0;
  enter(&counted, 1);
  lock.fetch_sub(name_of_thread(), cuda::memory_order_release);
}

__global__ void one_per_block(unsigned times) {
  const cg::thread_block block = cg::this_thread_block();
  for (unsigned i = 0; i < times; ++i) {
    if (block.thread_rank() == i % block.size()) count_in(block.size());
    block.sync();
  }
}

template <step kStep>
__global__ void every_thread(unsigned times) {
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  for (unsigned turn = 0; turn < 32; ++turn) {
    for (unsigned i = 0; i < times && warp.thread_rank() == turn; ++i) {
      if constexpr (kStep == step::atomic_ref)
        count_in_by_atomic_ref();
      else
        count_in(1);
    }
    warp.sync();
  }
}

}  // namespace

result count(step version, const work& job) {
  require_at_most(cudaDevAttrMaxGridDimX, job.blocks, "blocks");
  require_at_most(cudaDevAttrMaxThreadsPerBlock, job.threads, "threads in a block");
  if (job.blocks == 0 || job.threads == 0) return {};
  constexpr void (*kKernels[])(unsigned) = {one_per_block, every_thread<step::lanes_in_turn>,
                                            every_thread<step::atomic_ref>};
  const auto kernel = kKernels[static_cast<std::size_t>(version)];
  tally t{};
  const unsigned long long nobody = 0;
  const float ms = time_kernel([&] { kernel<<<job.blocks, job.threads>>>(job.times); },
                               [&] {
                                 CUDA_CHECK(cudaMemcpyToSymbol(counted, &t, sizeof t));
                                 CUDA_CHECK(cudaMemcpyToSymbol(holder, &nobody, sizeof nobody));
                               });
  CUDA_CHECK(cudaMemcpyFromSymbol(&t, counted, sizeof t));
  return {t.count, t.entries, ms};
}

}  // namespace lab::lock
