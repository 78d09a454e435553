// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 08.4 heat_transfer: a plate in two buffers that take turns; read by pointers, then by textures.
// Edit:  this file, from TODO(1) to TODO(6). heat_transfer.hpp has the formula.
// Run:   scripts/lab run 08.4 -- --step texture_2d     (writes heat.png: open it in a browser)
// Test:  scripts/lab test 08.4
// Hints: scripts/lab hint 08.4                         Chapter: docs/08_textures.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::heat_transfer {
namespace {

// --- given (the owners are in device_memory.hpp and lab/texture.hpp) ----------------------------

// --- what one cell needs -------------------------------------------------------------------------

/// Step 2 of the contract for one cell. __fadd_rn, __fsub_rn and __fmul_rn are +, - and * that the
/// compiler keeps apart, so that all steps and the reference get the same bits.
__device__ float blended(float own, float up, float down, float left, float right) {
  // TODO(1): the formula in heat_transfer.hpp, in its order.
  return own;
}

// --- global_memory: two kernels per step, and two buffers that take turns ------------------------
// No cell may be overwritten while a neighbour still reads it: so the new temperatures go into
// another buffer. Requires that the buffers change their roles after each step, and that the
// result is taken from the right one.

__global__ void copy_heaters(int width, int height, const float* heaters, float* cells) {
  // TODO(2): where there is a heater, the cell takes its temperature; elsewhere it stays.
}

__global__ void blend(int width, int height, const float* input, float* output) {
  // TODO(2): the new temperature of this thread's cell. A neighbour that is not there is the cell.
}

result simulate_global_memory(const task& what) {
  // TODO(2): the memory, and what.steps times both kernels. kernel_ms is the time of all of them;
  //          neither the copies nor the allocations belong to it.
  throw not_written("step global_memory", 1);  // 1 and 2 are this step
}

// --- texture_1d: the same, read through textures over linear memory ------------------------------
// A texture object is a read-only view of memory that belongs to others. tex1Dfetch<float>(view, i)
// reads element i. Requires one view for each buffer: the views must take turns as the buffers do.

texture_view view_of(const device_buffer<float>& cells) {
  // TODO(3): a cudaResourceDesc, what it looks at, and a cudaTextureDesc, how; both begin as {}.
  //          Linear memory of floats: where it is, how many bytes, the format of an element
  //          (cudaCreateChannelDesc<float>()). Read as it is: cudaReadModeElementType.
  throw not_written("step texture_1d", 3);
}

__global__ void copy_heaters_1d(int width, int height, cudaTextureObject_t heaters, float* cells) {
  // TODO(3): as copy_heaters, but the heaters are fetched. The cells are written as before.
}

__global__ void blend_1d(int width, int height, cudaTextureObject_t input, float* output) {
  // TODO(3): as blend. tex1Dfetch knows of no rows: the edges are still yours.
}

result simulate_texture_1d(const task& what) {
  // TODO(3): as before, with a view of the heaters and one of each buffer. Whatever is swapped,
  //          the kernels must read the buffer that was written last.
  view_of(device_buffer<float>(what.initial));
  throw not_written("step texture_1d", 3);
}

// --- texture_2d: the texture knows of rows, and clamps at the edges ------------------------------
// tex2D<float>(view, x, y) reads at a *place*: the middle of cell (x, y) is at (x + 0.5, y + 0.5).
// Requires memory whose rows begin where textures want them to, and the right address mode.

texture_view view_of(const pitched_buffer& cells) {
  // TODO(4): again a cudaResourceDesc and a cudaTextureDesc. Pitched memory of floats. Outside the
  //          plate, the nearest cell; no mixing of cells; x and y counted in cells. Say so even
  //          where zeros mean it.
  throw not_written("step texture_2d", 4);
}

/// The beginning of row y in pitched memory.
__device__ float* row_of(float* cells, std::size_t pitch_bytes, int y) {
  // TODO(4): the pitch is a number of bytes.
  return cells;
}

__global__ void copy_heaters_2d(int width, int height, cudaTextureObject_t heaters, float* cells,
                                std::size_t pitch_bytes) {
  // TODO(4): as copy_heaters.
}

__global__ void blend_2d(int width, int height, cudaTextureObject_t input, float* output,
                         std::size_t pitch_bytes) {
  // TODO(4): as blend, without a word about edges.
}

result simulate_texture_2d(const task& what) {
  // TODO(4): as before, in three pitched_buffers.
  view_of(pitched_buffer(what.width, what.height));
  throw not_written("step texture_2d", 4);
}

// --- fused: one kernel per step ------------------------------------------------------------------
// copy_heaters reads all heaters only to change a few cells. If blend puts the heaters into what it
// writes, the next step finds them there. Requires one copy_heaters before the first step, and a
// last step that leaves the heaters out, as the contract has it.

constexpr int kColumns = 32;  // a block is kColumns x kRowsOfThreads threads: a warp is a row
constexpr int kRowsOfThreads = 8;
constexpr int kCells = 4;  // that a thread does, one below the other: many loads in flight

/// `heaters` is null in the last step.
__global__ void blend_and_heat(int width, int height, const float* __restrict__ input,
                               const float* __restrict__ heaters, float* __restrict__ output) {
  // TODO(5): a thread's cells are (x, top) to (x, top + kCells - 1), as far as they are on the
  //          plate. Their column, from the one above to the one below, is read once.
}

result simulate_fused(const task& what) {
  // TODO(5): copy_heaters once, if there is a step at all; then what.steps times blend_and_heat.
  throw not_written("step fused", 5);
}

// --- several_steps: several time steps in one launch ---------------------------------------------
// A time step of fused waits for memory. Here a block loads a tile once, takes kTogether time steps
// in registers and shared memory, and stores what is still right: the outermost cells of the tile
// lack neighbours, and with each time step one more ring is wrong. So a tile has a halo of
// kTogether cells on each side, and tiles overlap. Requires that a barrier is between writes and
// reads of the tile, both ways.

constexpr int kTogether = 8;  // time steps in a launch, and the width of the halo
constexpr int kTileWide = 64, kTileHigh = 64;
constexpr int kColumn = 8;  // cells of a thread, one below the other
static_assert(kTileHigh % kColumn == 0, "each column of the tile is divided among whole threads");

/// The row that takes the place of row y, which may be above or below the plate: as if mirrors
/// stood at the edges. It changes as row y would, so the edges need no conditions later.
__device__ int mirrored(int y, int height) {
  // TODO(6, bonus): -1 is row 0, -2 is row 1, and so on; the same below. A low plate is mirrored
  //                 more than once.
  return y;
}

/// `steps` is at most kTogether.
__global__ void __launch_bounds__(kTileWide* kTileHigh / kColumn)
    blend_several(int width, int height, int steps, const float* __restrict__ input,
                  const float* __restrict__ heaters, float* __restrict__ output) {
  // TODO(6, bonus): a thread's cells are kColumn rows of one column of the tile. It keeps them and
  //                 their heaters in registers, and in each time step applies the heaters, shows
  //                 its cells to the others in shared memory, and computes the new ones. Threads
  //                 outside of the plate take part: every thread has to reach every barrier.
}

result simulate_several_steps(const task& what) {
  // TODO(6, bonus): launches of kTogether time steps, and a last one of those that are left. What
  //                 the blocks store has to cover the plate: less than their tiles.
  throw not_written("step several_steps", 6);
}

}  // namespace

// --- given: what cannot be simulated -------------------------------------------------------------

result simulate(step which, int width, int height, std::span<const float> initial,
                std::span<const float> heaters, int steps) {
  const task what{width, height, initial, heaters, steps};
  require_good(what);
  require_texture_fits(which, what);
  switch (which) {
    case step::global_memory:
      return simulate_global_memory(what);
    case step::texture_1d:
      return simulate_texture_1d(what);
    case step::texture_2d:
      return simulate_texture_2d(what);
    case step::fused:
      return simulate_fused(what);
    case step::several_steps:
      return simulate_several_steps(what);
  }
  throw invalid_input("heat_transfer: there is no such step");
}

}  // namespace lab::heat_transfer
