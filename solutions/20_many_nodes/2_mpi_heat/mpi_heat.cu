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
  // BEGIN SOLUTION
  // STUB: throw not_written("choose_grid", 1);
  process_grid best;
  const auto borders = [&](process_grid g) {
    return (g.rows - 1L) * width + (g.columns - 1L) * height;
  };
  for (int rows = 1; rows <= std::min(ranks, height); ++rows) {
    const process_grid grid{rows, std::min(ranks / rows, width)};
    const int more = grid.rows * grid.columns - best.rows * best.columns;
    if (more > 0 || (more == 0 && borders(grid) < borders(best))) best = grid;
  }
  return best;
  // END SOLUTION
}

namespace {

/// A communicator of the ranks in the grid; MPI_COMM_NULL for those outside it.
MPI_Comm make_grid(MPI_Comm world, process_grid grid) {
  MPI_Comm made = MPI_COMM_NULL;
  // TODO(2): MPI_Cart_create: two dimensions, rows first, not periodic, and no reordering, since
  //          each rank already has its part.
  // BEGIN SOLUTION
  // STUB: throw not_written("make_grid", 2);
  const int sizes[] = {grid.rows, grid.columns}, periodic[] = {0, 0};
  MPI_CHECK(MPI_Cart_create(world, 2, sizes, periodic, 0, &made));
  // END SOLUTION
  return made;
}

neighbours neighbours_in(MPI_Comm grid) {
  neighbours found;
  // TODO(2): MPI_Cart_shift finds two of them at a time. Dimension 0 is the rows, top to bottom.
  // BEGIN SOLUTION
  // STUB: throw not_written("neighbours_in", 2);
  MPI_CHECK(MPI_Cart_shift(grid, 0, 1, &found.up, &found.down));
  MPI_CHECK(MPI_Cart_shift(grid, 1, 1, &found.left, &found.right));
  // END SOLUTION
  return found;
}

// --- both steps: from the cells to a message, and back -------------------------------------------
// Neighbours need the cells along the borders as they are after step 1 of the contract, in the
// order of border_layout. A column is not contiguous, so a kernel gathers it; if it gathers the
// rows as well, one copy to the host is enough.

__global__ void pack(part_view p, float* packed) {
  // TODO(3): thread i stores element i of the border_layout: a cell of the first or last row, or of
  //          the first or last column, heated.
  // BEGIN SOLUTION
  const border_layout at = p.borders;
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < at.down())
    packed[i] = heated(p, i, 0);
  else if (i < at.left())
    packed[i] = heated(p, i - at.down(), at.height - 1);
  else if (i < at.right())
    packed[i] = heated(p, 0, i - at.left());
  else if (i < at.count())
    packed[i] = heated(p, at.width - 1, i - at.right());
  // END SOLUTION
}

/// Packs the borders, copies them to memory.to_send, and waits for the copy.
void fetch_borders(const part& now) {
  // TODO(4): the kernel and the copy, in the stream now.along_borders; then wait for this stream.
  // BEGIN SOLUTION
  // STUB: throw not_written("fetch_borders", 4);
  part_buffers& memory = now.memory;
  pack<<<blocks_along(memory.borders), kThreads, 0, now.along_borders>>>(memory.view(now.next_to),
                                                                         memory.packed.data());
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaMemcpyAsync(memory.to_send.data(), memory.packed.data(),
                             memory.to_send.size_bytes(), cudaMemcpyDeviceToHost,
                             now.along_borders));
  CUDA_CHECK(cudaStreamSynchronize(now.along_borders));
  // END SOLUTION
}

/// Starts all messages of this time step.
void start_exchange(const part& now, messages& under_way) {
  // TODO(4): receive from each neighbour into memory.received, and send it its border of
  //          memory.to_send. A message that this rank sends up arrives at the other one from below:
  //          choose the tags by the direction in which a message travels.
  // BEGIN SOLUTION
  // STUB: throw not_written("start_exchange", 4);
  enum tag { upwards, downwards, leftwards, rightwards };
  const border_layout at = now.memory.borders;
  const neighbours& to = now.next_to;
  float* const in = now.memory.received.data();
  under_way.receive(in + at.up(), at.width, to.up, downwards, now.grid);
  under_way.receive(in + at.down(), at.width, to.down, upwards, now.grid);
  under_way.receive(in + at.left(), at.height, to.left, rightwards, now.grid);
  under_way.receive(in + at.right(), at.height, to.right, leftwards, now.grid);
  const float* const out = now.memory.to_send.data();
  under_way.send(out + at.up(), at.width, to.up, upwards, now.grid);
  under_way.send(out + at.down(), at.width, to.down, downwards, now.grid);
  under_way.send(out + at.left(), at.height, to.left, leftwards, now.grid);
  under_way.send(out + at.right(), at.height, to.right, rightwards, now.grid);
  // END SOLUTION
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
  // BEGIN SOLUTION
  // STUB: throw not_written("step blocking", 5);
  fetch_borders(now);
  messages under_way;
  now.exchange.begin();
  start_exchange(now, under_way);
  under_way.wait();
  now.exchange.end();
  store_halo(now, now.along_borders);
  launch_blend(now.memory.view(now.next_to), 0, now.along_borders);
  CUDA_CHECK(cudaStreamSynchronize(now.along_borders));
  // END SOLUTION
}

// --- overlap -------------------------------------------------------------------------------------
// Inner cells have all their neighbours in the part itself. Requires that their kernel is launched
// before the host waits for messages, and that each of the outermost cells is computed once, after
// the halo has arrived.

__global__ void blend_borders(part_view p) {
  // TODO(6): thread i computes the cell with index i in the border_layout. A corner has two
  //          indices, and so does every cell in a part of one row or column; compute no cell twice.
  // BEGIN SOLUTION
  const border_layout at = p.borders;
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const bool several_rows = at.height > 1, several_columns = at.width > 1;
  if (i < at.down()) {
    blend_cell(p, i, 0);
  } else if (i < at.left()) {
    if (several_rows) blend_cell(p, i - at.down(), at.height - 1);
  } else if (i < at.count()) {
    const bool is_left = i < at.right();
    const int y = i - (is_left ? at.left() : at.right());
    const bool is_corner = y == 0 || y == at.height - 1;  // which is also in a row
    if (!is_corner && (is_left || several_columns)) blend_cell(p, is_left ? 0 : at.width - 1, y);
  }
  // END SOLUTION
}

void advance_overlap(const part& now) {
  // TODO(6): as above, but submit the inner cells (launch_blend with a margin of 1) to the stream
  //          now.inside, as early as possible, and the borders to now.along_borders.
  // BEGIN SOLUTION
  // STUB: throw not_written("step overlap", 6);
  const part_view view = now.memory.view(now.next_to);
  launch_blend(view, 1, now.inside);
  fetch_borders(now);
  messages under_way;
  now.exchange.begin();
  start_exchange(now, under_way);
  under_way.wait();
  now.exchange.end();
  store_halo(now, now.along_borders);
  blend_borders<<<blocks_along(view.borders), kThreads, 0, now.along_borders>>>(view);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaStreamSynchronize(now.along_borders));
  CUDA_CHECK(cudaStreamSynchronize(now.inside));
  // END SOLUTION
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
