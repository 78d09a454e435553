// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 17.4 memory_pools: the contract. What the program and the tests expect of memory_pools.cu.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lab::memory_pools {

/// The program's number of jobs and their average length on the CPU device, and jobs in a batch,
/// unless it is told otherwise.
inline constexpr std::size_t kDefaultJobs = 200, kDefaultLength = 1024;
inline constexpr int kDefaultBatch = 20;

enum class step {
  malloc_each,   ///< cudaMalloc and cudaFree for each job
  malloc_async,  ///< memory that is allocated and freed in the order of a stream
  kept_pool,     ///< the same, from a pool that keeps freed memory until it is trimmed
  two_streams,   ///< memory that is allocated in one stream and freed in another one
};

struct result {
  std::vector<std::uint32_t> values;  ///< in the order of the input
  std::uint64_t kept = 0;  ///< bytes that the pool reserves after the last batch; all are free
  std::uint64_t left = 0;  ///< the same, after the pool has been trimmed
  float total_ms = 0;      ///< the time of all jobs, with what the host does for them
};

inline constexpr std::size_t kLongestJob = std::size_t{1} << 31;  ///< values

/// Smooths each job's values twice. Job 0 has the first lengths[0] values, job 1 the next
/// lengths[1], and so on. Smoothing once means, for all values of a job at the same time,
///
///     new[i] = old[i - 1] + 2 * old[i] + old[i + 1]        (modulo 2^32)
///
/// where old is 0 beyond the ends of the job. A job may have no values.
///
/// A job needs memory for the values between its two passes. It behaves like a function of a
/// library, which is called with a part of the data and brings its own memory. After every `batch`
/// jobs, and after the last one, the host waits for all results so far.
///
/// malloc_each has no pool, so `kept` and `left` are 0. malloc_async takes the device's current
/// pool as it is, and does not trim it: `left` is 0, too. The others have a pool of their own.
///
/// Throws lab::invalid_input when the lengths do not add up to values.size(), when one is more than
/// kLongestJob, or when batch is not positive; lab::cuda_error when CUDA reports an error. Neither
/// leaves memory, pools, streams or events behind.
///
/// Requires: kernels for both passes of each job; memory of its own for each job that has values,
/// as much as these need, allocated right before its first pass and freed right after its second.
/// malloc_each: by cudaMalloc, and by cudaFree once the host has waited for the job. The others:
/// stream-ordered, and the host waits only once a batch. malloc_async: from the device's current
/// pool, which is the same after each step as before. kept_pool and two_streams: from a pool whose
/// release threshold keeps all memory, until cudaMemPoolTrimTo gives it back after the last batch.
/// two_streams: the first passes in one stream, the second passes in another one, where the memory
/// is freed, too; first passes may run beside the second pass of the job before; and at most two
/// jobs of a batch have memory at the same time.
///
/// From: Stream Ordered Memory Allocator, in NVIDIA's CUDA C++ Programming Guide; V. Nadella, R.
/// Raman, Using the NVIDIA CUDA Stream-Ordered Memory Allocator, NVIDIA Technical Blog, 2021.
result smooth(step version, std::span<const std::uint32_t> values,
              std::span<const std::size_t> lengths, int batch);

}  // namespace lab::memory_pools
