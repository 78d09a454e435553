// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Reduce and broadcast for all-reduce and the other way round, in NCCL and MPI; pageable memory.

#include <cuda_runtime.h>
#include <nccl.h>

#include "given.hpp"

namespace lab::nccl_over_mpi {
namespace {

/// Replaces the vector in device memory with the sum of the vectors of all ranks of `comm`, through
/// host memory.
void sum_through_the_host(MPI_Comm comm, device_buffer<float>& vector) {
  std::vector<float> host = vector.to_vector();
  MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, host.data(), static_cast<int>(host.size()), MPI_FLOAT,
                          MPI_SUM, comm));
  if (!host.empty()) vector.copy_from(host);
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
  // To rank 0, and from there to all, out of place: both calls are in one stream, so they run in
  // this order.
  device_buffer<float> total(vector.size());
  NCCL_CHECK(
      ncclReduce(vector.data(), total.data(), vector.size(), ncclFloat, ncclSum, 0, all, queue));
  NCCL_CHECK(ncclBroadcast(total.data(), vector.data(), vector.size(), ncclFloat, 0, all, queue));
  CUDA_CHECK(cudaDeviceSynchronize());
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
  // All ranks of a node have its sum; all but the leader replace it in the end.
  NCCL_CHECK(
      ncclAllReduce(vector.data(), vector.data(), vector.size(), ncclFloat, ncclSum, local, queue));
  if (leaders != MPI_COMM_NULL) {
    const int n = static_cast<int>(vector.size());
    std::vector<float> host(vector.size());
    if (n > 0)
      CUDA_CHECK(cudaMemcpyAsync(host.data(), vector.data(), vector.size_bytes(),
                                 cudaMemcpyDeviceToHost, queue));
    CUDA_CHECK(cudaStreamSynchronize(queue));
    if (rank_in(leaders) == 0)
      MPI_CHECK(MPI_Reduce(MPI_IN_PLACE, host.data(), n, MPI_FLOAT, MPI_SUM, 0, leaders));
    else
      MPI_CHECK(MPI_Reduce(host.data(), nullptr, n, MPI_FLOAT, MPI_SUM, 0, leaders));
    MPI_CHECK(MPI_Bcast(host.data(), n, MPI_FLOAT, 0, leaders));
    if (n > 0)
      CUDA_CHECK(cudaMemcpyAsync(vector.data(), host.data(), vector.size_bytes(),
                                 cudaMemcpyHostToDevice, queue));
  }
  NCCL_CHECK(ncclBcast(vector.data(), vector.size(), ncclFloat, 0, local, queue));
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
