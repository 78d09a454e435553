// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// One MPI_Neighbor_alltoallv for all borders; position_of() for both kernels along them.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::mpi_heat {

// --- both steps: which rank has which part -------------------------------------------------------

process_grid choose_grid(int width, int height, int ranks) {
  require_sizes(width, height, ranks);
  process_grid best;
  int shortest = 0;
  for (int rows = 1; rows <= std::min(height, ranks); ++rows) {
    const int columns = std::min(width, ranks / rows);
    const int borders = (rows - 1) * width + (columns - 1) * height;
    const int gain = rows * columns - best.rows * best.columns;
    if (rows == 1 || gain > 0 || (gain == 0 && borders < shortest)) {
      best = {rows, columns};
      shortest = borders;
    }
  }
  return best;
}

namespace {

/// A communicator of the ranks in the grid; MPI_COMM_NULL for those outside it.
MPI_Comm make_grid(MPI_Comm world, process_grid grid) {
  MPI_Comm made = MPI_COMM_NULL;
  const int dims[] = {grid.rows, grid.columns}, periods[] = {0, 0};
  MPI_CHECK(MPI_Cart_create(world, 2, dims, periods, 0, &made));
  return made;
}

neighbours neighbours_in(MPI_Comm grid) {
  neighbours found;
  MPI_CHECK(MPI_Cart_shift(grid, 0, 1, &found.up, &found.down));
  MPI_CHECK(MPI_Cart_shift(grid, 1, 1, &found.left, &found.right));
  return found;
}

/// Where number i of the border_layout is.
__device__ int2 position_of(const border_layout& b, int i) {
  if (i < b.down()) return {i, 0};
  if (i < b.left()) return {i - b.down(), b.height - 1};
  if (i < b.right()) return {0, i - b.left()};
  return {b.width - 1, i - b.right()};
}

__global__ void pack(part_view p, float* packed) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= p.borders.count()) return;
  const int2 at = position_of(p.borders, i);
  packed[i] = heated(p, at.x, at.y);
}

/// Packs the borders, copies them to memory.to_send, and waits for the copy.
void fetch_borders(const part& now) {
  part_buffers& memory = now.memory;
  pack<<<blocks_along(memory.borders), kThreads, 0, now.along_borders>>>(memory.view(now.next_to),
                                                                         memory.packed.data());
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaMemcpyAsync(memory.to_send.data(), memory.packed.data(),
                             memory.packed.size_bytes(), cudaMemcpyDeviceToHost,
                             now.along_borders));
  CUDA_CHECK(cudaStreamSynchronize(now.along_borders));
}

/// All messages of this time step, in one call for all neighbours.
void exchange(const part& now) {
  // A Cartesian communicator's neighbours are those of dimension 0, then those of dimension 1: up,
  // down, left and right, as in the border_layout.
  const border_layout& b = now.memory.borders;
  const int counts[] = {b.width, b.width, b.height, b.height};
  const int first[] = {b.up(), b.down(), b.left(), b.right()};
  now.exchange.begin();
  MPI_CHECK(MPI_Neighbor_alltoallv(now.memory.to_send.data(), counts, first, MPI_FLOAT,
                                   now.memory.received.data(), counts, first, MPI_FLOAT, now.grid));
  now.exchange.end();
}

/// Copies the received cells to memory.halo, in this stream.
void store_halo(const part& now, cudaStream_t stream) {
  part_buffers& memory = now.memory;
  CUDA_CHECK(cudaMemcpyAsync(memory.halo.data(), memory.received.data(),
                             memory.received.size_bytes(), cudaMemcpyHostToDevice, stream));
}

void advance_blocking(const part& now) {
  fetch_borders(now);
  exchange(now);
  store_halo(now, now.along_borders);
  launch_blend(now.memory.view(now.next_to), 0, now.along_borders);
  CUDA_CHECK(cudaStreamSynchronize(now.along_borders));
}

__global__ void blend_borders(part_view p) {
  const border_layout& b = p.borders;
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= b.count()) return;
  const int2 at = position_of(b, i);
  if (i >= b.down() && i < b.left() && b.height == 1) return;
  if (i >= b.left() && (at.y == 0 || at.y == b.height - 1)) return;
  if (i >= b.right() && b.width == 1) return;
  blend_cell(p, at.x, at.y);
}

void advance_overlap(const part& now) {
  const part_view view = now.memory.view(now.next_to);
  launch_blend(view, 1, now.inside);
  fetch_borders(now);
  exchange(now);
  store_halo(now, now.along_borders);
  blend_borders<<<blocks_along(view.borders), kThreads, 0, now.along_borders>>>(view);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaStreamSynchronize(now.along_borders));
  CUDA_CHECK(cudaStreamSynchronize(now.inside));
}

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
