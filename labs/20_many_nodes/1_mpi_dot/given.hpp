// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 20.1 mpi_dot: what mpi_dot.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <tuple>
#include <vector>

#include "lab/block_sum.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/mpi_job.hpp"
#include "lab/pinned_buffer.hpp"
#include "lab/refuse_if.hpp"
#include "lab/timer.hpp"
#include "mpi_dot.hpp"

namespace lab::mpi_dot {

constexpr unsigned kThreads = 256;  // a power of two: the tree halves it
constexpr unsigned kMostBlocks = 256;

// --- the dot product of one device ---------------------------------------------------------------

__global__ void sums_of_blocks(const float* x, const float* y, std::size_t n, double* partial) {
  __shared__ float cache[kThreads];
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  float mine = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
    mine += x[i] * y[i];
  const float sum = sum_of_block(cache, mine);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

__global__ void sum_of_sums(const double* partial, unsigned count, double* sum) {
  __shared__ double cache[kThreads];
  double mine = 0;
  for (unsigned i = threadIdx.x; i < count; i += blockDim.x) mine += partial[i];
  const double all = sum_of_block(cache, mine);
  if (threadIdx.x == 0) *sum = all;
}

/// Launches the kernels that store the dot product of n elements in *sum. All pointers are to
/// memory of the current device. Returns the kernels' time in ms, which it waits for; no elements
/// take no launch, and make the sum 0.
inline float dot_on_device(const float* x, const float* y, std::size_t n, double* sum) {
  if (n == 0) {
    CUDA_CHECK(cudaMemset(sum, 0, sizeof(double)));
    return 0;
  }
  const auto blocks =
      static_cast<unsigned>(std::min<std::size_t>((n + kThreads - 1) / kThreads, kMostBlocks));
  device_buffer<double> partial(blocks);
  event_timer timer;
  timer.start();
  sums_of_blocks<<<blocks, kThreads>>>(x, y, n, partial.data());
  CUDA_CHECK(cudaGetLastError());
  sum_of_sums<<<1, kThreads>>>(partial.data(), blocks, sum);
  CUDA_CHECK(cudaGetLastError());
  timer.stop();
  return timer.milliseconds();
}

// --- ranks ---------------------------------------------------------------------------------------

/// What a rank answers.
struct rank_result {
  double sum = 0;
  int device = 0;
  bool staged = true;
  float scatter_ms = 0, kernel_ms = 0, reduce_ms = 0;
};

/// Who has which elements, as MPI_Scatterv wants to know it: part k is the counts[k] elements from
/// number displacements[k] on.
struct parts {
  std::vector<int> counts, displacements;
  int rank = 0;  ///< that of this process

  int mine() const { return counts[static_cast<std::size_t>(rank)]; }
};

inline parts parts_of(MPI_Comm world, std::size_t n) {
  parts made;
  int ranks = 0;
  MPI_CHECK(MPI_Comm_size(world, &ranks));
  MPI_CHECK(MPI_Comm_rank(world, &made.rank));
  const std::vector<std::size_t> cuts = cut(n, ranks);
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
    made.counts.push_back(static_cast<int>(cuts[k + 1] - cuts[k]));
    made.displacements.push_back(static_cast<int>(cuts[k]));
  }
  return made;
}

/// The milliseconds since the last call, or since it was made.
class stopwatch {
 public:
  float lap() {
    const double before = std::exchange(begin_, MPI_Wtime());
    return static_cast<float>((begin_ - before) * 1000);
  }

 private:
  double begin_ = MPI_Wtime();
};

inline void require_good(std::span<const float> x, std::span<const float> y, int ranks,
                         int ranks_per_node) {
  refuse_if(x.size() != y.size(), "mpi_dot: the vectors have ", x.size(), " and ", y.size(),
            " elements; they must have the same number");
  refuse_if(ranks < 1 || ranks > kMostRanks, "mpi_dot: ", ranks, " ranks; there must be 1 to ",
            kMostRanks);
  refuse_if(ranks_per_node < 0, "mpi_dot: ", ranks_per_node, " ranks on a node");
  refuse_if(x.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()),
            "mpi_dot: ", x.size(), " elements are more than MPI counts with an int");
}

/// Runs `work` on each rank; rank 0 is given the vectors.
template <class Job>
result run(const Job& work, std::span<const float> x, std::span<const float> y, int ranks,
           int ranks_per_node) {
  using given = std::tuple<std::size_t, std::span<const float>, std::span<const float>>;
  mpi::options job_options{.time_limit_s = 20};
  if (ranks_per_node > 0)
    job_options.environment.push_back("LAB_MPI_RANKS_PER_NODE=" + std::to_string(ranks_per_node));
  const std::vector<rank_result> answers = work.run(
      ranks, [&](int rank) { return rank == 0 ? given(x.size(), x, y) : given(x.size(), {}, {}); },
      job_options);
  result all;
  for (const rank_result& one : answers) {
    all.sums.push_back(one.sum);
    all.devices.push_back(one.device);
    all.staged = one.staged;
    all.scatter_ms = std::max(all.scatter_ms, one.scatter_ms);
    all.kernel_ms = std::max(all.kernel_ms, one.kernel_ms);
    all.reduce_ms = std::max(all.reduce_ms, one.reduce_ms);
  }
  return all;
}

}  // namespace lab::mpi_dot
