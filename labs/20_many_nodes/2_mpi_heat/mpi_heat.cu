// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 20.2 mpi_heat: a plate divided into parts, whose borders are sent between processes.
// Edit:  this file, from TODO(1) to TODO(6). mpi_heat.hpp has the contract.
// Run:   scripts/lab run 20.2 -- --ranks 6 --step overlap
// Test:  scripts/lab test 20.2
// Hints: scripts/lab hint 20.2                            Chapter: docs/20_many_nodes.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::mpi_heat {

// --- both steps: which rank has which part -------------------------------------------------------

process_grid choose_grid(int width, int height, int ranks) {
  require_sizes(width, height, ranks);
  // TODO(1): try all grids with at most `height` rows and `width` columns, and keep the one
  //          that the contract describes.
  throw not_written("choose_grid", 1);
}

namespace {

/// A communicator of the ranks in the grid; MPI_COMM_NULL for those outside it.
MPI_Comm make_grid(MPI_Comm world, process_grid grid) {
  MPI_Comm made = MPI_COMM_NULL;
  // TODO(2): MPI_Cart_create: two dimensions, rows first, not periodic, and no reordering, since
  //          each rank already has its part.
  throw not_written("make_grid", 2);
  return made;
}

neighbours neighbours_in(MPI_Comm grid) {
  neighbours found;
  // TODO(2): MPI_Cart_shift finds two of them at a time. Dimension 0 is the rows, top to bottom.
  throw not_written("neighbours_in", 2);
  return found;
}

// --- both steps: from the cells to a message, and back -------------------------------------------
// Neighbours need the cells along the borders as they are after step 1 of the contract, in the
// order of border_layout. A column is not contiguous, so a kernel gathers it; if it gathers the
// rows as well, one copy to the host is enough.

__global__ void pack(part_view p, float* packed) {
  // TODO(3): thread i stores element i of the border_layout: a cell of the first or last row, or of
  //          the first or last column, heated.
}

/// Packs the borders, copies them to memory.to_send, and waits for the copy.
void fetch_borders(const part& now) {
  // TODO(4): the kernel and the copy, in the stream now.along_borders; then wait for this stream.
  throw not_written("fetch_borders", 4);
}

/// Starts all messages of this time step.
void start_exchange(const part& now, messages& under_way) {
  // TODO(4): receive from each neighbour into memory.received, and send it its border of
  //          memory.to_send. A message that this rank sends up arrives at the other one from below:
  //          choose the tags by the direction in which a message travels.
  throw not_written("start_exchange", 4);
}

/// Copies the received cells to memory.halo, in this stream.
void store_halo(const part& now, cudaStream_t stream) {
  part_buffers& memory = now.memory;
  CUDA_CHECK(cudaMemcpyAsync(memory.halo.data(), memory.received.data(),
                             memory.received.size_bytes(), cudaMemcpyHostToDevice, stream));
}

// --- blocking ------------------------------------------------------------------------------------

void advance_blocking(const part& now) {
  // TODO(5): the borders, the exchange (between now.exchange.begin() and end()), the halo, and then
  //          all cells. The next time step must find the new cells complete.
  throw not_written("step blocking", 5);
}

// --- overlap -------------------------------------------------------------------------------------
// Inner cells have all their neighbours in the part itself. Requires that their kernel is launched
// before the host waits for messages, and that each of the outermost cells is computed once, after
// the halo has arrived.

__global__ void blend_borders(part_view p) {
  // TODO(6): thread i computes the cell with index i in the border_layout. A corner has two
  //          indices, and so does every cell in a part of one row or column; compute no cell twice.
}

void advance_overlap(const part& now) {
  // TODO(6): as above, but submit the inner cells (launch_blend with a margin of 1) to the stream
  //          now.inside, as early as possible, and the borders to now.along_borders.
  throw not_written("step overlap", 6);
}

// --- given ---------------------------------------------------------------------------------------

template <class Advance>
rank_result work_of_rank(MPI_Comm world, const rank_task& task, std::span<const float> initial,
                         std::span<const float> heaters, const Advance& advance) {
  use_device_of_local_rank(world);
  const communicator grid(make_grid(world, task.grid));
  if (grid == MPI_COMM_NULL) return {};  // no work: the plate has too few cells
  return run_steps(task, grid, neighbours_in(grid), initial, heaters, advance);
}

rank_result blocking_of_rank(MPI_Comm world, const rank_task& task, std::span<const float> initial,
                             std::span<const float> heaters) {
  return work_of_rank(world, task, initial, heaters, advance_blocking);
}
rank_result overlap_of_rank(MPI_Comm world, const rank_task& task, std::span<const float> initial,
                            std::span<const float> heaters) {
  return work_of_rank(world, task, initial, heaters, advance_overlap);
}
const mpi::job kBlocking("20.2 blocking", blocking_of_rank);
const mpi::job kOverlap("20.2 overlap", overlap_of_rank);

}  // namespace

result simulate(step version, int width, int height, std::span<const float> initial,
                std::span<const float> heaters, int steps, int ranks, int kill_rank) {
  require_good(width, height, initial, heaters, steps, ranks);
  const process_grid grid = choose_grid(width, height, ranks);
  return run(version == step::overlap ? kOverlap : kBlocking, grid, width, height, initial, heaters,
             steps, ranks, kill_rank);
}

}  // namespace lab::mpi_heat
