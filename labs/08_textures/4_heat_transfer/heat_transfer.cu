// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 08.4 heat_transfer: a plate in two buffers that take turns; read by pointer, then by texture.
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
/// compiler never fuses, so that all steps and the reference get the same bits.
__device__ float blended(float own, float up, float down, float left, float right) {
  // TODO(1): the formula in heat_transfer.hpp, in its order.
  return own;
}

// --- global_memory: two kernels per step, and two buffers that take turns ------------------------
// No cell may be overwritten while a neighbour still reads it, so the new temperatures go into
// another buffer. Requires that the buffers change their roles after each step, and that the
// result is read from the right one.

__global__ void copy_heaters(int width, int height, const float* heaters, float* cells) {
  // TODO(2): where there is a heater, the cell takes its temperature; elsewhere it stays.
}

__global__ void blend(int width, int height, const float* input, float* output) {
  // TODO(2): the new temperature of this thread's cell. Where a neighbour is missing, use the cell.
}

result simulate_global_memory(const task& plate) {
  // TODO(2): the memory, and what.steps times both kernels. kernel_ms is the time of all of them,
  //          without the copies and the allocations.
  throw not_written("step global_memory", 1);  // 1 and 2 are this step
}

// --- texture_1d: the same, read through textures over linear memory ------------------------------
// A texture object is a read-only view of memory that it does not own. tex1Dfetch<float>(view, i)
// reads element i. Requires one view for each buffer: the views must take turns as the buffers do.

texture_view view_of(const device_buffer<float>& cells) {
  // TODO(3): a cudaResourceDesc for the memory, and a cudaTextureDesc for how it is read; both
  //          start as {}. Linear memory of floats: its address, its number of bytes, the format of
  //          an element (cudaCreateChannelDesc<float>()). Read unchanged: cudaReadModeElementType.
  throw not_written("step texture_1d", 3);
}

__global__ void copy_heaters_1d(int width, int height, cudaTextureObject_t heaters, float* cells) {
  // TODO(3): like copy_heaters, but the heaters are fetched. The cells are written as before.
}

__global__ void blend_1d(int width, int height, cudaTextureObject_t input, float* output) {
  // TODO(3): like blend. tex1Dfetch has no rows: you still have to handle the edges.
}

result simulate_texture_1d(const task& plate) {
  // TODO(3): as before, with a view of the heaters and one of each buffer. Whatever you swap,
  //          the kernels must read the buffer that was written last.
  view_of(device_buffer<float>(plate.initial));
  throw not_written("step texture_1d", 3);
}

// --- texture_2d: the texture has rows, and clamps at the edges -----------------------------------
// tex2D<float>(view, x, y) takes *coordinates*: the centre of cell (x, y) is (x + 0.5, y + 0.5).
// Requires memory whose rows are aligned as textures require, and the right address mode.

texture_view view_of(const pitched_buffer& cells) {
  // TODO(4): again a cudaResourceDesc and a cudaTextureDesc. Pitched memory of floats. Outside the
  //          plate, the nearest cell; no interpolation; x and y in units of cells. Set all of
  //          these, even those that are 0.
  throw not_written("step texture_2d", 4);
}

/// The address of row y in pitched memory.
__device__ float* row_of(float* cells, std::size_t pitch_bytes, int y) {
  // TODO(4): the pitch is in bytes.
  return cells;
}

__global__ void copy_heaters_2d(int width, int height, cudaTextureObject_t heaters, float* cells,
                                std::size_t pitch_bytes) {
  // TODO(4): like copy_heaters.
}

__global__ void blend_2d(int width, int height, cudaTextureObject_t input, float* output,
                         std::size_t pitch_bytes) {
  // TODO(4): like blend, with no code for the edges.
}

result simulate_texture_2d(const task& plate) {
  // TODO(4): as before, in three pitched_buffers.
  view_of(pitched_buffer(plate.width, plate.height));
  throw not_written("step texture_2d", 4);
}

// --- fused: one kernel per step ------------------------------------------------------------------
// copy_heaters reads all heaters only to change a few cells. Here each thread applies them to all
// cells that it reads: its own and their neighbours. Other threads do so again for theirs, from the
// caches. A thread computes kRows float4, one below the other. Requires rows that are aligned for
// float4: pitched memory, with padding that is read and written, but never used.

constexpr int kVector = 4;      // cells in a float4
constexpr int kColumns = 32;    // a warp is a row of 32 float4
constexpr int kThreadRows = 8;  // a block is kColumns x kThreadRows threads
constexpr int kRows = 4;        // per thread: many loads in flight

__device__ float heated(float cell, float heater) {
  // TODO(5): step 1 of the contract for one cell.
  return cell;
}

__device__ float4 heated(float4 cells, float4 heaters) {
  return {heated(cells.x, heaters.x), heated(cells.y, heaters.y), heated(cells.z, heaters.z),
          heated(cells.w, heaters.w)};
}

/// Step 2 of the contract for four cells of a row. The plate's last column is number `last` of
/// them, if it is among them at all.
__device__ float4 blended(float4 own, float4 up, float4 down, float left, float right, int last) {
  // TODO(5): blended() for each of them. A neighbour in the same float4 is already loaded, but
  //          the one to the right of the last column is padding.
  return own;
}

/// A row of each array has `pitch` float4.
__global__ void heat_and_blend(int width, int height, std::size_t pitch,
                               const float4* __restrict__ input, const float4* __restrict__ heaters,
                               float4* __restrict__ output) {
  // TODO(5): this thread's float4 are number `column` of the rows top to top + kRows - 1, if they
  //          are on the plate. Those from the row above to the row below are read only once.
}

result simulate_fused(const task& plate) {
  // TODO(5): three pitched_buffers, whose vectors() are float4, and what.steps times the kernel.
  throw not_written("step fused", 5);
}

// --- several_steps: several time steps in one launch ---------------------------------------------
// fused spends its time waiting for memory. Here a block loads a tile once, takes kTogether time
// steps in registers, and stores the cells that are still right: the outermost cells of the tile
// lack neighbours, so with each time step one more ring of cells becomes wrong. These kTogether
// rings are the tile's halo, and tiles overlap by it. A warp has kTileRows rows of the
// tile. Left and right neighbours come from other lanes, rows above and below from other warps,
// through shared memory. Requires that all threads take part in all time steps, including those
// outside the plate.

constexpr int kTogether = 8;  // time steps per launch, and the width of the halo
constexpr int kWarps = 8;     // per block, one below the other
constexpr int kTileRows = 8;  // per warp
constexpr int kHaloColumns = kTogether / kVector;  // in float4
constexpr int kInnerColumns = kColumns - 2 * kHaloColumns;
constexpr int kTileHeight = kWarps * kTileRows, kInnerHeight = kTileHeight - 2 * kTogether;
static_assert(kTogether % kVector == 0, "a tile begins where a float4 begins");

/// The row to use for row y, which may be above or below the plate: as if there were mirrors at the
/// edges. It changes as the plate does, so the edges need no conditions later.
__device__ int mirrored(int y, int height) {
  // TODO(6, bonus): -1 is row 0, -2 is row 1, and so on; the same below. A plate with few rows is
  //                 mirrored more than once.
  return min(max(y, 0), height - 1);
}

/// `steps` is at most kTogether. Two blocks per multiprocessor: one computes while the other loads.
__global__ void __launch_bounds__(kColumns* kWarps, 2)
    take_steps(int width, int height, std::size_t pitch, int steps,
               const float4* __restrict__ input, const float4* __restrict__ heaters,
               float4* __restrict__ output) {
  // TODO(6, bonus): load this thread's kTileRows float4 and their heaters. In each time step apply
  //                 the heaters, pass your first and your last row to the warps above and below,
  //                 and blend. Store the cells that are on the plate and not in the halo.
}

result simulate_several_steps(const task& plate) {
  // TODO(6, bonus): launches of kTogether time steps, and a last one for the rest. The cells that
  //                 the blocks store must cover the plate: they are fewer than their tiles have.
  throw not_written("step several_steps", 6);
}

}  // namespace

// --- given: what cannot be simulated -------------------------------------------------------------

result simulate(step version, int width, int height, std::span<const float> initial,
                std::span<const float> heaters, int steps) {
  const task plate{width, height, initial, heaters, steps};
  require_good(plate);
  require_texture_fits(version, plate);
  switch (version) {
    case step::global_memory:
      return simulate_global_memory(plate);
    case step::texture_1d:
      return simulate_texture_1d(plate);
    case step::texture_2d:
      return simulate_texture_2d(plate);
    case step::fused:
      return simulate_fused(plate);
    case step::several_steps:
      return simulate_several_steps(plate);
  }
  throw invalid_input("heat_transfer: there is no such step");
}

}  // namespace lab::heat_transfer
