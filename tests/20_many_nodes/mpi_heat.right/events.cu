// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Events between the streams, and the host does not wait at the end of a time step; MPI_Comm_split
// for the grid.

#include <cuda_runtime.h>

#include "given.hpp"
#include "lab/event.hpp"

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
  int rank = 0;
  MPI_CHECK(MPI_Comm_rank(world, &rank));
  MPI_Comm made = MPI_COMM_NULL;
  const bool is_in = rank < grid.rows * grid.columns;
  MPI_CHECK(MPI_Comm_split(world, is_in ? 0 : MPI_UNDEFINED, rank, &made));
  return made;
}

neighbours neighbours_in(MPI_Comm grid, process_grid size) {
  int rank = 0;
  MPI_CHECK(MPI_Comm_rank(grid, &rank));
  const int row = rank / size.columns, column = rank % size.columns;
  neighbours found;
  if (row > 0) found.up = rank - size.columns;
  if (row + 1 < size.rows) found.down = rank + size.columns;
  if (column > 0) found.left = rank - 1;
  if (column + 1 < size.columns) found.right = rank + 1;
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

/// Starts all messages of this time step.
void start_exchange(const part& now, messages& under_way) {
  const border_layout& b = now.memory.borders;
  const neighbours& to = now.next_to;
  float* in = now.memory.received.data();
  const float* out = now.memory.to_send.data();
  enum tag { upwards, downwards, leftwards, rightwards };
  under_way.receive(in + b.up(), b.width, to.up, downwards, now.grid);
  under_way.receive(in + b.down(), b.width, to.down, upwards, now.grid);
  under_way.receive(in + b.left(), b.height, to.left, rightwards, now.grid);
  under_way.receive(in + b.right(), b.height, to.right, leftwards, now.grid);
  under_way.send(out + b.up(), b.width, to.up, upwards, now.grid);
  under_way.send(out + b.down(), b.width, to.down, downwards, now.grid);
  under_way.send(out + b.left(), b.height, to.left, leftwards, now.grid);
  under_way.send(out + b.right(), b.height, to.right, rightwards, now.grid);
}

/// Copies the received cells to memory.halo, in this stream.
void store_halo(const part& now, cudaStream_t stream) {
  part_buffers& memory = now.memory;
  CUDA_CHECK(cudaMemcpyAsync(memory.halo.data(), memory.received.data(),
                             memory.received.size_bytes(), cudaMemcpyHostToDevice, stream));
}

void exchange(const part& now) {
  now.exchange.begin();
  messages under_way;
  start_exchange(now, under_way);
  under_way.wait();
  now.exchange.end();
}

void advance_blocking(const part& now) {
  fetch_borders(now);
  exchange(now);
  store_halo(now, now.along_borders);
  // The next time step packs in the same stream, and waits for it before it sends.
  launch_blend(now.memory.view(now.next_to), 0, now.along_borders);
}

__global__ void blend_borders(part_view p) {
  // Rows first, and columns without their corners.
  const auto [width, height] = p.borders;
  const int stride = static_cast<int>(gridDim.x * blockDim.x);
  const int first = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  for (int x = first; x < width; x += stride) {
    blend_cell(p, x, 0);
    if (height > 1) blend_cell(p, x, height - 1);
  }
  for (int y = first + 1; y < height - 1; y += stride) {
    blend_cell(p, 0, y);
    if (width > 1) blend_cell(p, width - 1, y);
  }
}

void advance_overlap(const part& now) {
  const part_view view = now.memory.view(now.next_to);
  launch_blend(view, 1, now.inside);
  fetch_borders(now);
  exchange(now);
  store_halo(now, now.along_borders);
  blend_borders<<<4, 128, 0, now.along_borders>>>(view);
  CUDA_CHECK(cudaGetLastError());
  // Each stream's next kernel reads what both have written; the host need not wait.
  const event inner, outer;
  CUDA_CHECK(cudaEventRecord(inner, now.inside));
  CUDA_CHECK(cudaEventRecord(outer, now.along_borders));
  CUDA_CHECK(cudaStreamWaitEvent(now.inside, outer, 0));
  CUDA_CHECK(cudaStreamWaitEvent(now.along_borders, inner, 0));
}

template <class Advance>
rank_result work_of_rank(MPI_Comm world, const rank_task& task, std::span<const float> initial,
                         std::span<const float> heaters, const Advance& advance) {
  use_device_of_local_rank(world);
  const communicator grid(make_grid(world, task.grid));
  if (grid == MPI_COMM_NULL) return {};  // no work: the plate has too few cells
  return run_steps(task, grid, neighbours_in(grid, task.grid), initial, heaters, advance);
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
