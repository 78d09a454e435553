// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 20.1 mpi_dot: one sum, many processes, each with a device.
// Edit:  this file, from TODO(1) to TODO(6). mpi_dot.hpp has the contract.
// Run:   scripts/lab run 20.1 -- --ranks 3      (mpirun is started by the program)
// Test:  scripts/lab test 20.1
// Hints: scripts/lab hint 20.1                  Chapter: docs/20_many_nodes.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::mpi_dot {

// --- all steps: how the data is divided ----------------------------------------------------------

std::vector<std::size_t> cut(std::size_t n, int ranks) {
  refuse_if(ranks < 1 || ranks > kMostRanks, "mpi_dot: ", ranks, " ranks; there must be 1 to ",
            kMostRanks);
  // TODO(1): ranks + 1 cuts, from 0 to n. Every element belongs to exactly one part: where
  //          one ends, the next one begins.
  throw not_written("cut", 1);
}

namespace {

/// Makes this rank's device the current one, and returns its number.
int choose_device(MPI_Comm world) {
  // TODO(2): the ranks of one node share its devices. Their numbers in `world` may
  //          begin anywhere, so create a communicator of the ranks of this node
  //          (MPI_Comm_split_type), and get the rank in it. Free the communicator. The device is
  //          that rank mod device_count().
  throw not_written("choose_device", 2);
}

// --- reduce and allreduce: MPI uses host memory --------------------------------------------------
// All ranks of the communicator must make a collective call, even those with an empty part: a rank
// that does not make it leaves the others waiting forever.

/// This rank's part of a vector that rank 0 has. `all` is empty on the other ranks.
std::vector<float> scatter(MPI_Comm world, std::span<const float> all, const parts& split) {
  // TODO(3): one MPI_Scatterv, which all ranks call. Rank 0 is the root.
  throw not_written("scatter", 3);
}

/// The beginning of both steps: the sum of this rank's part.
rank_result sum_of_part(MPI_Comm world, std::size_t n, std::span<const float> x,
                        std::span<const float> y) {
  rank_result mine;
  mine.device = choose_device(world);
  const parts split = parts_of(world, n);
  stopwatch watch;
  // TODO(3): this rank's parts of x and y, and their dot product on the device. Record the times
  //          (watch.lap(), and the result of dot_on_device).
  return mine;
}

rank_result reduce_of_rank(MPI_Comm world, std::size_t n, std::span<const float> x,
                           std::span<const float> y) {
  rank_result mine = sum_of_part(world, n, x, y);
  stopwatch watch;
  // TODO(4): the sum of all ranks' sums, for rank 0. They are doubles.
  throw not_written("step reduce", 4);
  mine.reduce_ms = watch.lap();
  return mine;
}

rank_result allreduce_of_rank(MPI_Comm world, std::size_t n, std::span<const float> x,
                              std::span<const float> y) {
  rank_result mine = sum_of_part(world, n, x, y);
  stopwatch watch;
  // TODO(5): the same sum for every rank, in one call.
  throw not_written("step allreduce", 5);
  mine.reduce_ms = watch.lap();
  return mine;
}

// --- device_buffers: from device memory to device memory -----------------------------------------
// A CUDA-aware MPI library accepts pointers to device memory. Any other would read them as
// host memory, and crash. Requires that both the header (support.compiled) and the loaded library
// (support.running) report this; otherwise data is staged: copied to pinned host memory, sent from
// there, and copied back to the device.

/// Like scatter(), from rank 0's device to the devices of all ranks.
device_buffer<float> scatter_on_devices(MPI_Comm world, const device_buffer<float>& all,
                                        const parts& split, bool staged) {
  device_buffer<float> mine(static_cast<std::size_t>(split.mine()));
  // TODO(6): if MPI accepts device memory, one MPI_Scatterv. MPI does not know about streams: its
  //          input must be complete. Otherwise: pinned_buffers, and copies before and after.
  return mine;
}

rank_result device_buffers_of_rank(MPI_Comm world, std::size_t n, std::span<const float> x,
                                   std::span<const float> y) {
  rank_result mine;
  mine.device = choose_device(world);
  const parts split = parts_of(world, n);
  // Rank 0's vectors are on its device from the start, like the results of a kernel.
  const device_buffer all_x(x), all_y(y);
  stopwatch watch;
  // TODO(6): find out whether to stage (mpi::query_cuda_support()), scatter, and multiply. Then
  //          MPI_Allreduce, from device memory to device memory or through pinned_buffers.
  throw not_written("step device_buffers", 6);
  return mine;
}

// --- given ---------------------------------------------------------------------------------------
// mpirun starts this program once for each rank. In these processes, a function that is selected
// by its name runs instead of main().

const mpi::job kReduce("20.1 reduce", reduce_of_rank);
const mpi::job kAllreduce("20.1 allreduce", allreduce_of_rank);
const mpi::job kDeviceBuffers("20.1 device_buffers", device_buffers_of_rank);

}  // namespace

result dot(step version, std::span<const float> x, std::span<const float> y, int ranks,
           int ranks_per_node) {
  require_good(x, y, ranks, ranks_per_node);
  if (version == step::allreduce) return run(kAllreduce, x, y, ranks, ranks_per_node);
  if (version == step::device_buffers) return run(kDeviceBuffers, x, y, ranks, ranks_per_node);
  result all = run(kReduce, x, y, ranks, ranks_per_node);
  all.sums.resize(1);
  return all;
}

}  // namespace lab::mpi_dot
