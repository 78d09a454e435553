// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The ranks of a node add up by ncclAllReduce. If there is a single node, that is all.

#include <cuda_runtime.h>
#include <nccl.h>

#include "given.hpp"

namespace lab::nccl_over_mpi {
namespace {

// Each function does one rank's work on its vector. The calls of MPI and NCCL here are collective:
// all ranks of the communicator make them, in the same order.

// --- mpi -----------------------------------------------------------------------------------------

/// Replaces the vector in device memory with the sum of the vectors of all ranks of `comm`, through
/// host memory.
void sum_through_the_host(MPI_Comm comm, device_buffer<float>& vector) {
  pinned_buffer<float> mine(vector.size()), all(vector.size());
  CUDA_CHECK(cudaMemcpy(mine.data(), vector.data(), vector.size_bytes(), cudaMemcpyDeviceToHost));
  MPI_CHECK(MPI_Allreduce(mine.data(), all.data(), static_cast<int>(vector.size()), MPI_FLOAT,
                          MPI_SUM, comm));
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

// --- nccl ----------------------------------------------------------------------------------------

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
  NCCL_CHECK(
      ncclAllReduce(vector.data(), vector.data(), vector.size(), ncclFloat, ncclSum, all, queue));
  CUDA_CHECK(cudaStreamSynchronize(queue));
  const float sum_ms = watch.lap();
  return {vector.to_vector(), device, setup_ms, sum_ms};
}

// --- hierarchical --------------------------------------------------------------------------------

/// A communicator of the first ranks of all nodes; MPI_COMM_NULL on the others.
group_of_ranks leaders_of(MPI_Comm world, int local_rank) {
  MPI_Comm leaders = MPI_COMM_NULL;
  const int color = local_rank == 0 ? 0 : MPI_UNDEFINED;
  MPI_CHECK(MPI_Comm_split(world, color, rank_in(world), &leaders));
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
  const nccl_communicator in_node(common_id(node), size_of(node), rank_in(node));
  const float setup_ms = watch.lap();
  NCCL_CHECK(ncclAllReduce(vector.data(), vector.data(), vector.size(), ncclFloat, ncclSum, in_node,
                           queue));
  CUDA_CHECK(cudaStreamSynchronize(queue));  // MPI knows nothing of streams
  if (size_of(node) == size_of(world)) return {vector.to_vector(), device, setup_ms, watch.lap()};
  if (leaders != MPI_COMM_NULL) sum_through_the_host(leaders, vector);
  NCCL_CHECK(
      ncclBroadcast(vector.data(), vector.data(), vector.size(), ncclFloat, 0, in_node, queue));
  CUDA_CHECK(cudaStreamSynchronize(queue));
  const float sum_ms = watch.lap();
  return {vector.to_vector(), device, setup_ms, sum_ms};
}

// --- given ---------------------------------------------------------------------------------------

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
