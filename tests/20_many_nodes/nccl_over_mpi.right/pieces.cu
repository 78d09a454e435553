// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Reduce-scatter and all-gather; leaders add up a piece while the next one is copied.

#include <cuda_runtime.h>
#include <nccl.h>

#include "given.hpp"
#include "lab/event.hpp"

namespace lab::nccl_over_mpi {
namespace {

/// Replaces the vector in device memory with the sum of the vectors of all ranks of `comm`, through
/// host memory.
void sum_through_the_host(MPI_Comm comm, device_buffer<float>& vector) {
  const std::size_t n = vector.size();
  pinned_buffer<float> mine(n), all(n);
  if (n > 0)
    CUDA_CHECK(cudaMemcpy(mine.data(), vector.data(), vector.size_bytes(), cudaMemcpyDeviceToHost));
  MPI_CHECK(MPI_Allreduce(mine.data(), all.data(), static_cast<int>(n), MPI_FLOAT, MPI_SUM, comm));
  if (n > 0)
    CUDA_CHECK(cudaMemcpy(vector.data(), all.data(), vector.size_bytes(), cudaMemcpyHostToDevice));
}

answer sum_by_mpi(MPI_Comm world, std::span<const float> mine) {
  stopwatch watch;
  const int device = rank_in(node_of(world));
  CUDA_CHECK(cudaSetDevice(device));
  device_buffer<float> vector(mine);
  const float setup_ms = watch.lap();
  sum_through_the_host(world, vector);
  const float sum_ms = watch.lap();
  return {vector.to_vector(), device, setup_ms, sum_ms};
}

/// A unique id, the same on all ranks of `comm`.
ncclUniqueId common_id(MPI_Comm comm) {
  ncclUniqueId id{};
  if (rank_in(comm) == 0) NCCL_CHECK(ncclGetUniqueId(&id));
  MPI_CHECK(MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, comm));
  return id;
}

answer sum_by_nccl(MPI_Comm world, std::span<const float> mine) {
  stopwatch watch;
  const int device = rank_in(node_of(world));
  CUDA_CHECK(cudaSetDevice(device));
  device_buffer<float> vector(mine);
  const stream queue;
  const nccl_communicator all(common_id(world), size_of(world), rank_in(world));
  const float setup_ms = watch.lap();
  // Each rank gets the sum of one piece of all vectors, and then the pieces are gathered.
  const auto ranks = static_cast<std::size_t>(size_of(world));
  const std::size_t piece = (vector.size() + ranks - 1) / ranks;
  device_buffer<float> padded(piece * ranks), sums(piece);
  if (!vector.empty()) {
    CUDA_CHECK(cudaMemsetAsync(padded.data(), 0, padded.size_bytes(), queue));
    CUDA_CHECK(cudaMemcpyAsync(padded.data(), vector.data(), vector.size_bytes(),
                               cudaMemcpyDeviceToDevice, queue));
  }
  NCCL_CHECK(ncclReduceScatter(padded.data(), sums.data(), piece, ncclFloat, ncclSum, all, queue));
  NCCL_CHECK(ncclAllGather(sums.data(), padded.data(), piece, ncclFloat, all, queue));
  if (!vector.empty())
    CUDA_CHECK(cudaMemcpyAsync(vector.data(), padded.data(), vector.size_bytes(),
                               cudaMemcpyDeviceToDevice, queue));
  CUDA_CHECK(cudaStreamSynchronize(queue));
  const float sum_ms = watch.lap();
  return {vector.to_vector(), device, setup_ms, sum_ms};
}

/// A communicator of the first ranks of all nodes; MPI_COMM_NULL on the others.
group_of_ranks leaders_of(MPI_Comm world, int local_rank) {
  MPI_Comm leaders = MPI_COMM_NULL;
  MPI_CHECK(MPI_Comm_split(world, local_rank == 0 ? 0 : MPI_UNDEFINED, rank_in(world), &leaders));
  return group_of_ranks(leaders);
}

answer sum_by_both(MPI_Comm world, std::span<const float> mine) {
  stopwatch watch;
  const group_of_ranks node = node_of(world);
  const int device = rank_in(node);
  CUDA_CHECK(cudaSetDevice(device));
  device_buffer<float> vector(mine);
  const group_of_ranks leaders = leaders_of(world, device);
  const stream queue;
  const nccl_communicator local(common_id(node), size_of(node), device);
  const float setup_ms = watch.lap();
  const auto n = static_cast<int>(vector.size());
  NCCL_CHECK(
      ncclReduce(vector.data(), vector.data(), vector.size(), ncclFloat, ncclSum, 0, local, queue));
  if (leaders != MPI_COMM_NULL) {
    // In pieces: while one is added up across the nodes, the next one is copied to the host.
    constexpr int kPiece = 1 << 12;
    pinned_buffer<float> host(vector.size());
    const stream up;
    const event reduced, there;
    CUDA_CHECK(cudaEventRecord(reduced, queue));
    CUDA_CHECK(cudaStreamWaitEvent(up, reduced, 0));
    const auto fetch = [&](int first) {
      const int count = std::min(kPiece, n - first);
      if (count > 0)
        CUDA_CHECK(cudaMemcpyAsync(host.data() + first, vector.data() + first,
                                   static_cast<std::size_t>(count) * sizeof(float),
                                   cudaMemcpyDeviceToHost, up));
      CUDA_CHECK(cudaEventRecord(there, up));
    };
    fetch(0);
    for (int first = 0; first < n; first += kPiece) {
      CUDA_CHECK(cudaEventSynchronize(there));
      fetch(first + kPiece);
      const int count = std::min(kPiece, n - first);
      MPI_CHECK(
          MPI_Allreduce(MPI_IN_PLACE, host.data() + first, count, MPI_FLOAT, MPI_SUM, leaders));
      CUDA_CHECK(cudaMemcpyAsync(vector.data() + first, host.data() + first,
                                 static_cast<std::size_t>(count) * sizeof(float),
                                 cudaMemcpyHostToDevice, queue));
    }
    CUDA_CHECK(cudaStreamSynchronize(up));
    CUDA_CHECK(cudaStreamSynchronize(queue));
  }
  NCCL_CHECK(
      ncclBroadcast(vector.data(), vector.data(), vector.size(), ncclFloat, 0, local, queue));
  CUDA_CHECK(cudaStreamSynchronize(queue));
  const float sum_ms = watch.lap();
  return {vector.to_vector(), device, setup_ms, sum_ms};
}

const mpi::job kMpi("20.3 mpi", sum_by_mpi);
const mpi::job kNccl("20.3 nccl", sum_by_nccl);
const mpi::job kHierarchical("20.3 hierarchical", sum_by_both);

}  // namespace

result sum(step version, std::span<const float> vectors, int ranks, int ranks_per_node) {
  require_good(version, vectors.size(), ranks, ranks_per_node);
  if (version == step::nccl) return run(kNccl, vectors, ranks, ranks_per_node);
  if (version == step::hierarchical) return run(kHierarchical, vectors, ranks, ranks_per_node);
  return run(kMpi, vectors, ranks, ranks_per_node);
}

}  // namespace lab::nccl_over_mpi
