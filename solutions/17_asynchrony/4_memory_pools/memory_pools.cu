// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 17.4 memory_pools: memory that is allocated and freed in the order of a stream.
// Edit:  this file, from TODO(1) to TODO(5); TODO(6) is a bonus. Contract: memory_pools.hpp
// Run:   scripts/lab run 17.4 -- --step malloc_each     (then malloc_async, kept_pool, two_streams)
// Test:  scripts/lab test 17.4
// Hints: scripts/lab hint 17.4                     Chapter: docs/17_asynchrony.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::memory_pools {
namespace {

// --- malloc_each ---------------------------------------------------------------------------------

void run_malloc_each(cudaStream_t stream, std::span<const batch_of_jobs> batches) {
  // TODO(1): for each job of each batch: plain_memory, and both passes in `stream` (given.hpp).
  //          Invariant: memory is freed when nothing in the stream uses it any more.
  // BEGIN SOLUTION
  // STUB: throw not_written("step malloc_each", 1);
  for (const batch_of_jobs& batch : batches)
    for (const job& j : batch) {
      const plain_memory memory(j.bytes());
      first_pass(stream, j, memory.data());
      second_pass(stream, j, memory.data());
      // cudaFree waits, too, but its documentation does not promise that.
      CUDA_CHECK(cudaStreamSynchronize(stream));
    }
  // END SOLUTION
}

// --- malloc_async: allocation and freeing are operations in the stream ---------------------------

/// Memory that belongs to its owner between two points in a stream: those where the constructor and
/// the destructor were called. The host does not wait for either.
class stream_memory {
 public:
  /// From `pool`, or from the device's current one if there is none.
  stream_memory(std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream) : stream_(stream) {
    // TODO(2): allocate (cudaMallocAsync, cudaMallocFromPoolAsync), and free in the destructor.
    // BEGIN SOLUTION
    // STUB: throw not_written("step malloc_async", 2);  // 2 and 3
    if (pool == nullptr)
      CUDA_CHECK(cudaMallocAsync(&memory_, bytes, stream));
    else
      CUDA_CHECK(cudaMallocFromPoolAsync(&memory_, bytes, pool, stream));
    // END SOLUTION
  }
  ~stream_memory() {
    // A destructor must not throw: CUDA_CHECK_NOTHROW.
    // BEGIN SOLUTION
    CUDA_CHECK_NOTHROW(cudaFreeAsync(memory_, stream_));
    // END SOLUTION
  }
  stream_memory(const stream_memory&) = delete;
  void* data() const { return memory_; }
  /// The memory now belongs to its owner until the destructor's point in another stream.
  void end_in(cudaStream_t stream) { stream_ = stream; }

 private:
  void* memory_ = nullptr;
  cudaStream_t stream_;
};

/// All batches in one stream, with memory from `pool` (or the current one).
void run_in_order(cudaStream_t stream, cudaMemPool_t pool, std::span<const batch_of_jobs> batches) {
  // TODO(3): like run_malloc_each(), with stream_memory. The host waits after each batch, and
  //          nowhere else.
  // BEGIN SOLUTION
  // STUB: throw not_written("step malloc_async", 2);  // 2 and 3
  for (const batch_of_jobs& batch : batches) {
    for (const job& j : batch) {
      const stream_memory memory(j.bytes(), pool, stream);
      first_pass(stream, j, memory.data());
      second_pass(stream, j, memory.data());
    }
    CUDA_CHECK(cudaStreamSynchronize(stream));
  }
  // END SOLUTION
}

// --- kept_pool: freed memory stays in the pool ---------------------------------------------------

/// A pool of the current device that releases no memory by itself.
pool_owner make_pool() {
  // TODO(4): cudaMemPoolCreate, for pinned memory of the current device that no other process
  //          shares (cudaMemPoolProps). Then set its release threshold, a std::uint64_t, to the
  //          largest number.
  // BEGIN SOLUTION
  // STUB: throw not_written("step kept_pool", 4);  // 4 and 5
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.handleTypes = cudaMemHandleTypeNone;
  properties.location.type = cudaMemLocationTypeDevice;
  CUDA_CHECK(cudaGetDevice(&properties.location.id));
  cudaMemPool_t handle = nullptr;
  CUDA_CHECK(cudaMemPoolCreate(&handle, &properties));
  pool_owner pool(handle);
  std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
  CUDA_CHECK(cudaMemPoolSetAttribute(handle, cudaMemPoolAttrReleaseThreshold, &all));
  return pool;
  // END SOLUTION
}

/// Releases all unused memory of a pool.
pool_figures trim(cudaMemPool_t pool) {
  // TODO(5): how much the pool reserves before (`kept`) and after (`left`) cudaMemPoolTrimTo.
  // BEGIN SOLUTION
  // STUB: throw not_written("step kept_pool", 4);  // 4 and 5
  pool_figures figures;
  figures.kept = reserved_bytes(pool);
  CUDA_CHECK(cudaMemPoolTrimTo(pool, 0));
  figures.left = reserved_bytes(pool);
  return figures;
  // END SOLUTION
}

// --- two_streams ---------------------------------------------------------------------------------

/// The first passes in stream `first`, the second passes in `second`.
void run_two_streams(cudaStream_t first, cudaStream_t second, cudaMemPool_t pool,
                     std::span<const batch_of_jobs> batches) {
  // TODO(6, bonus): memory is allocated in `first` and freed in `second`. Invariants: a second pass
  //          waits for its first pass (cudaStreamWaitEvent); `first` allocates for a job only
  //          after the memory of the job two before it has been freed.
  // BEGIN SOLUTION
  // STUB: throw not_written("step two_streams", 6);
  const event written[2], freed[2];
  std::size_t number = 0;
  for (const batch_of_jobs& batch : batches) {
    for (const job& j : batch) {
      const std::size_t turn = number++ % 2;
      CUDA_CHECK(cudaStreamWaitEvent(first, freed[turn], 0));
      {
        stream_memory memory(j.bytes(), pool, first);
        first_pass(first, j, memory.data());
        CUDA_CHECK(cudaEventRecord(written[turn], first));
        CUDA_CHECK(cudaStreamWaitEvent(second, written[turn], 0));
        memory.end_in(second);
        second_pass(second, j, memory.data());
      }
      CUDA_CHECK(cudaEventRecord(freed[turn], second));
    }
    CUDA_CHECK(cudaStreamSynchronize(second));  // `second` has waited for all the work in `first`
  }
  // END SOLUTION
}

}  // namespace

result smooth(step version, std::span<const std::uint32_t> values,
              std::span<const std::size_t> lengths, int batch) {
  check(values, lengths, batch);
  const auto run = [&](cudaStream_t first, cudaStream_t second,
                       std::span<const batch_of_jobs> batches) -> pool_figures {
    if (version == step::malloc_each) {
      run_malloc_each(first, batches);
      return {};
    }
    if (version == step::malloc_async) {
      run_in_order(first, nullptr, batches);
      return {reserved_bytes(current_pool()), 0};
    }
    const pool_owner pool = make_pool();
    if (version == step::kept_pool) run_in_order(first, pool.get(), batches);
    if (version == step::two_streams) run_two_streams(first, second, pool.get(), batches);
    return trim(pool.get());
  };
  return host_part_of_smooth(values, lengths, batch, run);
}

}  // namespace lab::memory_pools
