// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// two_streams: jobs run in pairs, and all memory of a pair is freed before the next one begins. The
// pool reuses only memory whose reuse is ordered by events. The host waits for the whole device.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::memory_pools {
namespace {

void run_malloc_each(cudaStream_t stream, const job& j) {
  void* memory = nullptr;
  CUDA_CHECK(cudaMalloc(&memory, j.bytes()));
  try {
    first_pass(stream, j, memory);
    second_pass(stream, j, memory);
    CUDA_CHECK(cudaDeviceSynchronize());
  } catch (...) {
    CUDA_CHECK_NOTHROW(cudaFree(memory));
    throw;
  }
  CUDA_CHECK(cudaFree(memory));
}

/// Memory that is used by `first` until hand_over(), and then by another stream until its end.
class stream_memory {
 public:
  stream_memory(std::size_t bytes, cudaMemPool_t pool, cudaStream_t first) : user_(first) {
    CUDA_CHECK(cudaMallocAsync(&memory_, bytes, pool, first));
  }
  ~stream_memory() { CUDA_CHECK_NOTHROW(cudaFreeAsync(memory_, user_)); }
  stream_memory(const stream_memory&) = delete;
  std::uint32_t* data() const { return memory_; }
  void hand_over(cudaStream_t to, const event& mark) {
    make_wait(to, user_, mark);
    user_ = to;
  }

 private:
  std::uint32_t* memory_ = nullptr;
  cudaStream_t user_;
};

void run_in_order(cudaStream_t stream, cudaMemPool_t pool, batch_of_jobs batch) {
  for (const job& j : batch) {
    const stream_memory memory(j.bytes(), pool, stream);
    first_pass(stream, j, memory.data());
    second_pass(stream, j, memory.data());
  }
}

void run_pairs(cudaStream_t first, cudaStream_t second, cudaMemPool_t pool, batch_of_jobs batch) {
  const event mark;
  for (; !batch.empty(); batch = batch.subspan(std::min<std::size_t>(2, batch.size()))) {
    make_wait(first, second, mark);
    for (const job& j : batch.first(std::min<std::size_t>(2, batch.size()))) {
      stream_memory memory(j.bytes(), pool, first);
      first_pass(first, j, memory.data());
      memory.hand_over(second, mark);
      second_pass(second, j, memory.data());
    }
  }
}

pool_owner make_pool() {
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  CUDA_CHECK(cudaGetDevice(&properties.location.id));
  cudaMemPool_t made = nullptr;
  CUDA_CHECK(cudaMemPoolCreate(&made, &properties));
  pool_owner pool(made);
  std::uint64_t all = ~std::uint64_t{0};
  CUDA_CHECK(cudaMemPoolSetAttribute(made, cudaMemPoolAttrReleaseThreshold, &all));
  int no = 0;
  CUDA_CHECK(cudaMemPoolSetAttribute(made, cudaMemPoolReuseAllowOpportunistic, &no));
  CUDA_CHECK(cudaMemPoolSetAttribute(made, cudaMemPoolReuseAllowInternalDependencies, &no));
  return pool;
}

}  // namespace

result smooth(step version, std::span<const std::uint32_t> values,
              std::span<const std::size_t> lengths, int batch) {
  check(values, lengths, batch);
  const auto run = [&](cudaStream_t first, cudaStream_t second,
                       std::span<const batch_of_jobs> batches) -> pool_figures {
    if (version == step::malloc_each) {
      for (const batch_of_jobs each : batches)
        for (const job& j : each) run_malloc_each(first, j);
      return {};
    }
    pool_owner own;
    if (version != step::malloc_async) own = make_pool();
    const cudaMemPool_t pool = own ? own.get() : current_pool();
    for (const batch_of_jobs each : batches) {
      if (version == step::two_streams)
        run_pairs(first, second, pool, each);
      else
        run_in_order(second, pool, each);
      CUDA_CHECK(cudaDeviceSynchronize());
    }
    const std::uint64_t kept = reserved_bytes(pool);
    if (!own) return {kept, 0};
    CUDA_CHECK(cudaMemPoolTrimTo(pool, 0));
    return {kept, reserved_bytes(pool)};
  };
  return host_part_of_smooth(values, lengths, batch, run);
}

}  // namespace lab::memory_pools
