// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 20.3 nccl_over_mpi: what nccl_over_mpi.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/mpi_job.hpp"
#include "lab/nccl_check.hpp"
#include "lab/pinned_buffer.hpp"
#include "lab/refuse_if.hpp"
#include "lab/stream.hpp"
#include "nccl_over_mpi.hpp"

namespace lab::nccl_over_mpi {

// --- owners --------------------------------------------------------------------------------------

/// An MPI communicator that is freed at the end. A rank that belongs to none has MPI_COMM_NULL.
class group_of_ranks {
 public:
  explicit group_of_ranks(MPI_Comm comm) : comm_(comm) {}
  group_of_ranks(group_of_ranks&& other) noexcept
      : comm_(std::exchange(other.comm_, MPI_COMM_NULL)) {}
  ~group_of_ranks() {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }
  operator MPI_Comm() const { return comm_; }

 private:
  MPI_Comm comm_;
};

/// An NCCL communicator: rank `rank` of `ranks`, with the current device. Aborted when an exception
/// ends it, so that the others do not wait.
class nccl_communicator {
 public:
  nccl_communicator(const ncclUniqueId& id, int ranks, int rank) {
    NCCL_CHECK(ncclCommInitRank(&comm_, ranks, id, rank));
  }
  ~nccl_communicator() {
    if (comm_ == nullptr) return;
    if (std::uncaught_exceptions() > 0)
      NCCL_CHECK_NOTHROW(ncclCommAbort(comm_));
    else
      NCCL_CHECK_NOTHROW(ncclCommDestroy(comm_));
  }
  nccl_communicator(const nccl_communicator&) = delete;
  nccl_communicator& operator=(const nccl_communicator&) = delete;
  operator ncclComm_t() const { return comm_; }

 private:
  ncclComm_t comm_ = nullptr;
};

// --- ranks ---------------------------------------------------------------------------------------

inline int size_of(MPI_Comm comm) {
  int ranks = 0;
  MPI_CHECK(MPI_Comm_size(comm, &ranks));
  return ranks;
}
inline int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_CHECK(MPI_Comm_rank(comm, &rank));
  return rank;
}

/// The ranks of this rank's node. The rank in it is the local rank.
inline group_of_ranks node_of(MPI_Comm world) {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_CHECK(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  return group_of_ranks(node);
}

/// What a rank answers: its sum, its device, and two times.
using answer = std::tuple<std::vector<float>, int, float, float>;

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

inline void require_good(step version, std::size_t elements, int ranks, int ranks_per_node) {
  refuse_if(ranks < 1 || ranks > kMostRanks, "nccl_over_mpi: ", ranks,
            " ranks; there must be 1 to ", kMostRanks);
  refuse_if(elements % static_cast<std::size_t>(ranks) != 0, "nccl_over_mpi: ", elements,
            " elements are not as many for each of ", ranks, " ranks");
  refuse_if(elements / static_cast<std::size_t>(ranks) > (std::size_t{1} << 30),
            "nccl_over_mpi: more elements than MPI counts with an int");
  refuse_if(ranks_per_node < 0, "nccl_over_mpi: ", ranks_per_node, " ranks on a node");
  const int on_a_node = ranks_per_node == 0 ? ranks : std::min(ranks, ranks_per_node);
  refuse_if(version == step::nccl && on_a_node < ranks,
            "nccl_over_mpi: the nodes are all this machine, so rank ", on_a_node,
            " would use the device of rank 0; a communicator of NCCL takes a device only once");
  if (!on_cpu_device() && on_a_node > device_count())
    throw not_possible("nccl_over_mpi: " + std::to_string(on_a_node) +
                       " ranks on a node need as many devices, and there are " +
                       std::to_string(device_count()));
}

/// Runs `work` on each rank, which is given its own vector.
template <class Job>
result run(const Job& work, std::span<const float> vectors, int ranks, int ranks_per_node) {
  const std::size_t n = vectors.size() / static_cast<std::size_t>(ranks);
  mpi::options job_options;
  if (ranks_per_node > 0)
    job_options.environment.push_back("LAB_MPI_RANKS_PER_NODE=" + std::to_string(ranks_per_node));
  // NCCL connects the devices when a communicator is made, and not in its first sum.
  job_options.environment.emplace_back("NCCL_RUNTIME_CONNECT=0");
  if (on_cpu_device())
    job_options.environment.push_back("CPU_DEVICE_COUNT=" + std::to_string(ranks));
  const std::vector<answer> answers = work.run(
      ranks,
      [&](int rank) { return std::tuple(vectors.subspan(static_cast<std::size_t>(rank) * n, n)); },
      job_options);
  result all;
  for (const auto& [sum, device, setup_ms, sum_ms] : answers) {
    all.sums.insert(all.sums.end(), sum.begin(), sum.end());
    all.devices.push_back(device);
    all.setup_ms = std::max(all.setup_ms, setup_ms);
    all.sum_ms = std::max(all.sum_ms, sum_ms);
  }
  return all;
}

}  // namespace lab::nccl_over_mpi
