// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 17.4 memory_pools: what memory_pools.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/event.hpp"
#include "lab/refuse_if.hpp"
#include "lab/stream.hpp"
#include "lab/timer.hpp"
#include "memory_pools.hpp"

namespace lab::memory_pools {

/// A job, which has at least one value. They are in device memory, and so will be the results.
struct job {
  std::uint32_t* values;
  std::size_t n;
  /// Of the memory that it needs between its passes.
  std::size_t bytes() const { return n * sizeof(std::uint32_t); }
};
/// The jobs after which the host waits.
using batch_of_jobs = std::span<const job>;

/// What a pool reserves. Both are 0 where there is no pool.
struct pool_figures {
  std::uint64_t kept = 0, left = 0;
};

// --- the passes ----------------------------------------------------------------------------------

static __global__ void smooth_once(const std::uint32_t* input, std::uint32_t* output,
                                   std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const std::uint32_t before = i > 0 ? input[i - 1] : 0, after = i + 1 < n ? input[i + 1] : 0;
  output[i] = before + 2 * input[i] + after;
}

inline void launch_pass(cudaStream_t stream, const std::uint32_t* input, std::uint32_t* output,
                        std::size_t n) {
  constexpr unsigned kThreads = 256;  // a block
  const auto blocks = static_cast<unsigned>((n + kThreads - 1) / kThreads);
  smooth_once<<<blocks, kThreads, 0, stream>>>(input, output, n);
  CUDA_CHECK(cudaGetLastError());
}

/// Puts a pass of the job into the stream. The first one writes all of `memory`, j.bytes() bytes of
/// the device; the second one reads them.
inline void first_pass(cudaStream_t stream, const job& j, void* memory) {
  launch_pass(stream, j.values, static_cast<std::uint32_t*>(memory), j.n);
}
inline void second_pass(cudaStream_t stream, const job& j, const void* memory) {
  launch_pass(stream, static_cast<const std::uint32_t*>(memory), j.values, j.n);
}

// --- owners --------------------------------------------------------------------------------------

/// cudaMalloc and cudaFree.
class plain_memory {
 public:
  explicit plain_memory(std::size_t bytes) { CUDA_CHECK(cudaMalloc(&memory_, bytes)); }
  ~plain_memory() { CUDA_CHECK_NOTHROW(cudaFree(memory_)); }
  plain_memory(const plain_memory&) = delete;
  plain_memory& operator=(const plain_memory&) = delete;
  void* data() const { return memory_; }

 private:
  void* memory_ = nullptr;
};

struct destroy_pool {
  void operator()(cudaMemPool_t pool) const { CUDA_CHECK_NOTHROW(cudaMemPoolDestroy(pool)); }
};
/// A pool of cudaMemPoolCreate; get() is the handle. It may own none.
using pool_owner = std::unique_ptr<std::remove_pointer_t<cudaMemPool_t>, destroy_pool>;

/// The pool that cudaMallocAsync takes memory from.
inline cudaMemPool_t current_pool() {
  int device = 0;
  cudaMemPool_t pool = nullptr;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetMemPool(&pool, device));
  return pool;
}

/// How many bytes the pool has from the device now, in use or not.
inline std::uint64_t reserved_bytes(cudaMemPool_t pool) {
  std::uint64_t bytes = 0;
  CUDA_CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &bytes));
  return bytes;
}

// --- the host's part -----------------------------------------------------------------------------

inline void check(std::span<const std::uint32_t> values, std::span<const std::size_t> lengths,
                  int batch) {
  std::size_t sum = 0;
  for (const std::size_t length : lengths) {
    refuse_if(length > kLongestJob, "memory_pools: a job of ", length, " values; it may have ",
              kLongestJob);
    sum += length;
    refuse_if(sum > values.size(), "memory_pools: the jobs have more than the ", values.size(),
              " values that there are");
  }
  refuse_if(sum != values.size(), "memory_pools: the jobs have ", sum, " values, but there are ",
            values.size());
  refuse_if(batch < 1, "memory_pools: batches of ", batch, " jobs; take 1 or more");
}

/// smooth(), where run(first, second, batches) does all jobs in these two streams. When it returns,
/// all of them have finished.
template <class Run>
result host_part_of_smooth(std::span<const std::uint32_t> values,
                           std::span<const std::size_t> lengths, int batch, const Run& run) {
  device_buffer<std::uint32_t> on_device(values);
  std::vector<job> jobs;
  std::vector<std::size_t> ends;  // of the batches; a job without values needs nothing
  std::size_t begin = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] != 0) jobs.push_back({on_device.data() + begin, lengths[i]});
    begin += lengths[i];
    if (i + 1 == lengths.size() || (i + 1) % static_cast<std::size_t>(batch) == 0)
      ends.push_back(jobs.size());
  }
  std::vector<batch_of_jobs> batches;
  std::size_t done = 0;
  for (const std::size_t end : ends) {
    batches.push_back(batch_of_jobs(jobs).subspan(done, end - done));
    done = end;
  }
  const stream first, second;  // they end first: all work is done before its memory goes
  const host_timer timer;
  const pool_figures figures = run(first, second, std::span<const batch_of_jobs>(batches));
  const auto total_ms = static_cast<float>(timer.milliseconds());
  return {on_device.to_vector(), figures.kept, figures.left, total_ms};
}

}  // namespace lab::memory_pools
