// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The pool is made the device's current one while the jobs run, so that cudaMallocAsync() takes all
// memory from it; malloc_async names the current pool. The host waits for events.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::memory_pools {
namespace {

void run_malloc_each(cudaStream_t stream, const job& j) {
  const plain_memory memory(j.bytes());
  first_pass(stream, j, memory.data());
  second_pass(stream, j, memory.data());
  CUDA_CHECK(cudaStreamSynchronize(stream));
}

/// While it lives, `pool` is the device's current pool.
class current {
 public:
  explicit current(cudaMemPool_t pool) : before_(current_pool()) {
    CUDA_CHECK(cudaGetDevice(&device_));
    CUDA_CHECK(cudaDeviceSetMemPool(device_, pool));
  }
  ~current() {
    if (before_ != nullptr) CUDA_CHECK_NOTHROW(cudaDeviceSetMemPool(device_, before_));
  }
  void end() {
    CUDA_CHECK(cudaDeviceSetMemPool(device_, before_));
    before_ = nullptr;
  }
  current(const current&) = delete;
  current& operator=(const current&) = delete;

 private:
  cudaMemPool_t before_;
  int device_ = 0;
};

/// Memory from the current pool, or from `pool` if there is one.
class memory_of_stream {
 public:
  memory_of_stream(std::size_t bytes, cudaStream_t begins, cudaMemPool_t pool) : ends_(begins) {
    if (pool != nullptr)
      CUDA_CHECK(cudaMallocFromPoolAsync(&memory_, bytes, pool, begins));
    else
      CUDA_CHECK(cudaMallocAsync(&memory_, bytes, begins));
  }
  ~memory_of_stream() { CUDA_CHECK_NOTHROW(cudaFreeAsync(memory_, ends_)); }
  memory_of_stream(const memory_of_stream&) = delete;
  memory_of_stream& operator=(const memory_of_stream&) = delete;
  void* data() const { return memory_; }
  void end_in(cudaStream_t stream) { ends_ = stream; }

 private:
  void* memory_ = nullptr;
  cudaStream_t ends_;
};

void wait_for(cudaStream_t stream, const event& mark) {
  CUDA_CHECK(cudaEventRecord(mark, stream));
  CUDA_CHECK(cudaEventSynchronize(mark));
}

void run_in_order(cudaStream_t stream, std::span<const batch_of_jobs> batches,
                  cudaMemPool_t pool = nullptr) {
  const event end;
  for (const batch_of_jobs batch : batches) {
    for (const job& j : batch) {
      const memory_of_stream memory(j.bytes(), stream, pool);
      first_pass(stream, j, memory.data());
      second_pass(stream, j, memory.data());
    }
    wait_for(stream, end);
  }
}

void run_two_streams(cudaStream_t first, cudaStream_t second,
                     std::span<const batch_of_jobs> batches) {
  const event made[2], gone[2], end;
  for (const batch_of_jobs batch : batches) {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const job& j = batch[i];
      if (i >= 2) CUDA_CHECK(cudaStreamWaitEvent(first, gone[i % 2], 0));
      {
        memory_of_stream memory(j.bytes(), first, nullptr);
        first_pass(first, j, memory.data());
        make_wait(second, first, made[i % 2]);
        memory.end_in(second);
        second_pass(second, j, memory.data());
      }
      CUDA_CHECK(cudaEventRecord(gone[i % 2], second));
    }
    wait_for(second, end);
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
    if (version == step::malloc_async) {
      run_in_order(first, batches, current_pool());
      return {reserved_bytes(current_pool()), 0};
    }
    const pool_owner pool = make_pool();
    {
      current meanwhile(pool.get());
      if (version == step::kept_pool)
        run_in_order(first, batches);
      else
        run_two_streams(first, second, batches);
      meanwhile.end();
    }
    const std::uint64_t kept = reserved_bytes(pool.get());
    CUDA_CHECK(cudaMemPoolTrimTo(pool.get(), 0));
    return {kept, reserved_bytes(pool.get())};
  };
  return host_part_of_smooth(values, lengths, batch, run);
}

}  // namespace lab::memory_pools
