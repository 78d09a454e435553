// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 20.3 nccl_over_mpi: MPI connects the ranks, NCCL computes the sum.
// Edit:  this file, from TODO(1) to TODO(5). nccl_over_mpi.hpp has the contract.
// Run:   scripts/lab run 20.3 -- --step nccl     (mpirun is started by the program)
// Test:  scripts/lab test 20.3
// Hints: scripts/lab hint 20.3                  Chapter: docs/20_many_nodes.md

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
  // TODO(1): copy to a pinned_buffer, one MPI_Allreduce, copy back.
  throw not_written("sum_through_the_host", 1);
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
  // TODO(2): rank 0 gets an id from NCCL, once; MPI sends its bytes to the others.
  //          Invariant: all ranks of `comm` return the same id, and no other communicator has it.
  throw not_written("common_id", 2);
  return id;
}

answer sum_by_nccl(MPI_Comm world, std::span<const float> mine) {
  stopwatch watch;
  const int device = rank_in(node_of(world));
  CUDA_CHECK(cudaSetDevice(device));
  device_buffer<float> vector(mine);
  // TODO(3): an nccl_communicator of all ranks, and one ncclAllReduce in a stream of your own. Its
  //          number of ranks and this rank's number are those of MPI. What must have finished
  //          before vector.to_vector() reads the sum?
  throw not_written("step nccl", 3);
  const float setup_ms = 0, sum_ms = 0;
  return {vector.to_vector(), device, setup_ms, sum_ms};
}

// --- hierarchical --------------------------------------------------------------------------------

/// A communicator of the first ranks of all nodes; MPI_COMM_NULL on the others.
group_of_ranks leaders_of(MPI_Comm world, int local_rank) {
  MPI_Comm leaders = MPI_COMM_NULL;
  // TODO(4): MPI_Comm_split, which all ranks call. A rank with the color MPI_UNDEFINED is in none
  //          of the new communicators.
  throw not_written("leaders_of", 4);
  return group_of_ranks(leaders);
}

answer sum_by_both(MPI_Comm world, std::span<const float> mine) {
  stopwatch watch;
  const group_of_ranks node = node_of(world);
  const int device = rank_in(node);
  CUDA_CHECK(cudaSetDevice(device));
  device_buffer<float> vector(mine);
  const group_of_ranks leaders = leaders_of(world, device);
  // TODO(5): an nccl_communicator for each node. Then, in three parts: the sum of a node to its
  //          first rank (ncclReduce), the sum of all nodes among the leaders, and that sum to all
  //          ranks of a node (ncclBroadcast). Each part begins when the previous one is complete.
  throw not_written("step hierarchical", 5);
  const float setup_ms = 0, sum_ms = 0;
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
