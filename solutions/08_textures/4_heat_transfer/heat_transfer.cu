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
  // BEGIN SOLUTION
  // STUB: return own;
  const float around = __fadd_rn(__fadd_rn(__fadd_rn(up, down), left), right);
  return __fadd_rn(own, __fmul_rn(kSpeed, __fsub_rn(around, __fmul_rn(4, own))));
  // END SOLUTION
}

// --- global_memory: two kernels per step, and two buffers that take turns ------------------------
// No cell may be overwritten while a neighbour still reads it: so the new temperatures go into
// another buffer. Requires that the buffers change their roles after each step, and that the
// result is taken from the right one.

__global__ void copy_heaters(int width, int height, const float* heaters, float* cells) {
  // TODO(2): where there is a heater, the cell takes its temperature; elsewhere it stays.
  // BEGIN SOLUTION
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x < width && y < height) {
    const std::size_t here = static_cast<std::size_t>(y) * width + x;
    const float heater = heaters[here];
    if (heater != 0) cells[here] = heater;
  }
  // END SOLUTION
}

__global__ void blend(int width, int height, const float* input, float* output) {
  // TODO(2): the new temperature of this thread's cell. A neighbour that is not there is the cell.
  // BEGIN SOLUTION
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x < width && y < height) {
    const std::size_t here = static_cast<std::size_t>(y) * width + x;
    const std::size_t left = x > 0 ? here - 1 : here;
    const std::size_t right = x + 1 < width ? here + 1 : here;
    const std::size_t up = y > 0 ? here - width : here;
    const std::size_t down = y + 1 < height ? here + width : here;
    output[here] = blended(input[here], input[up], input[down], input[left], input[right]);
  }
  // END SOLUTION
}

result simulate_global_memory(const task& what) {
  // TODO(2): the memory, and what.steps times both kernels. kernel_ms is the time of all of them;
  //          neither the copies nor the allocations belong to it.
  // BEGIN SOLUTION
  // STUB: throw not_written("step global_memory", 1);  // 1 and 2 are this step
  const device_buffer<float> heaters(what.heaters);
  device_buffer<float> one(what.initial), other(what.count());
  float *input = one.data(), *output = other.data();
  const dim3 blocks = blocks_of(kTile, kTile, what);

  const float kernel_ms = time_kernel([&] {
    for (int i = 0; i < what.steps; ++i) {
      copy_heaters<<<blocks, kThreads>>>(what.width, what.height, heaters.data(), input);
      blend<<<blocks, kThreads>>>(what.width, what.height, input, output);
      std::swap(input, output);  // what was written last is the next step's input, or the result
    }
  });
  return {cells_at(input, what.width, what.height), kernel_ms};
  // END SOLUTION
}

// --- texture_1d: the same, read through textures over linear memory ------------------------------
// A texture object is a read-only view of memory that belongs to others. tex1Dfetch<float>(view, i)
// reads element i. Requires one view for each buffer: the views must take turns as the buffers do.

texture_view view_of(const device_buffer<float>& cells) {
  // TODO(3): a cudaResourceDesc, what it looks at, and a cudaTextureDesc, how; both begin as {}.
  //          Linear memory of floats: where it is, how many bytes, the format of an element
  //          (cudaCreateChannelDesc<float>()). Read as it is: cudaReadModeElementType.
  // BEGIN SOLUTION
  // STUB: throw not_written("step texture_1d", 3);
  cudaResourceDesc memory = {};
  cudaTextureDesc how = {};
  memory.resType = cudaResourceTypeLinear;
  memory.res.linear.devPtr = const_cast<float*>(cells.data());  // a texture does not write
  memory.res.linear.sizeInBytes = cells.size_bytes();
  memory.res.linear.desc = cudaCreateChannelDesc<float>();
  how.readMode = cudaReadModeElementType;
  return texture_view(memory, how);
  // END SOLUTION
}

__global__ void copy_heaters_1d(int width, int height, cudaTextureObject_t heaters, float* cells) {
  // TODO(3): as copy_heaters, but the heaters are fetched. The cells are written as before.
  // BEGIN SOLUTION
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x < width && y < height) {
    const int i = y * width + x;  // an int, as tex1Dfetch wants it: the host has seen to the size
    const float heater = tex1Dfetch<float>(heaters, i);
    if (heater != 0) cells[i] = heater;
  }
  // END SOLUTION
}

__global__ void blend_1d(int width, int height, cudaTextureObject_t input, float* output) {
  // TODO(3): as blend. tex1Dfetch knows of no rows: the edges are still yours.
  // BEGIN SOLUTION
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x < width && y < height) {
    const int i = y * width + x;
    const float own = tex1Dfetch<float>(input, i);
    const float up = tex1Dfetch<float>(input, y > 0 ? i - width : i);
    const float down = tex1Dfetch<float>(input, y + 1 < height ? i + width : i);
    const float left = tex1Dfetch<float>(input, x > 0 ? i - 1 : i);
    const float right = tex1Dfetch<float>(input, x + 1 < width ? i + 1 : i);
    output[i] = blended(own, up, down, left, right);
  }
  // END SOLUTION
}

result simulate_texture_1d(const task& what) {
  // TODO(3): as before, with a view of the heaters and one of each buffer. Whatever is swapped,
  //          the kernels must read the buffer that was written last.
  // BEGIN SOLUTION
  // STUB: view_of(device_buffer<float>(what.initial));
  // STUB: throw not_written("step texture_1d", 3);
  const device_buffer<float> heaters(what.heaters);
  device_buffer<float> one(what.initial), other(what.count());
  const texture_view heaters_view = view_of(heaters), one_view = view_of(one),
                     other_view = view_of(other);
  float *input = one.data(), *output = other.data();
  cudaTextureObject_t input_view = one_view.object(), output_view = other_view.object();
  const dim3 blocks = blocks_of(kTile, kTile, what);

  const float kernel_ms = time_kernel([&] {
    for (int i = 0; i < what.steps; ++i) {
      copy_heaters_1d<<<blocks, kThreads>>>(what.width, what.height, heaters_view.object(), input);
      // A texture's cache may miss what its own kernel writes; input was written by the one before.
      blend_1d<<<blocks, kThreads>>>(what.width, what.height, input_view, output);
      std::swap(input, output);
      std::swap(input_view, output_view);
    }
  });
  return {cells_at(input, what.width, what.height), kernel_ms};
  // END SOLUTION
}

// --- texture_2d: the texture knows of rows, and clamps at the edges ------------------------------
// tex2D<float>(view, x, y) reads at a *place*: the middle of cell (x, y) is at (x + 0.5, y + 0.5).
// Requires memory whose rows begin where textures want them to, and the right address mode.

texture_view view_of(const pitched_buffer& cells) {
  // TODO(4): again a cudaResourceDesc and a cudaTextureDesc. Pitched memory of floats. Outside the
  //          plate, the nearest cell; no mixing of cells; x and y counted in cells. Say so even
  //          where zeros mean it.
  // BEGIN SOLUTION
  // STUB: throw not_written("step texture_2d", 4);
  cudaResourceDesc memory = {};
  cudaTextureDesc how = {};
  memory.resType = cudaResourceTypePitch2D;
  memory.res.pitch2D.devPtr = cells.data();
  memory.res.pitch2D.width = static_cast<std::size_t>(cells.width());
  memory.res.pitch2D.height = static_cast<std::size_t>(cells.height());
  memory.res.pitch2D.pitchInBytes = cells.pitch_bytes();
  memory.res.pitch2D.desc = cudaCreateChannelDesc<float>();
  how.addressMode[0] = cudaAddressModeClamp;  // x
  how.addressMode[1] = cudaAddressModeClamp;  // y
  how.filterMode = cudaFilterModePoint;
  how.readMode = cudaReadModeElementType;
  how.normalizedCoords = 0;
  return texture_view(memory, how);
  // END SOLUTION
}

/// The beginning of row y in pitched memory.
__device__ float* row_of(float* cells, std::size_t pitch_bytes, int y) {
  // TODO(4): the pitch is a number of bytes.
  // BEGIN SOLUTION
  // STUB: return cells;
  return reinterpret_cast<float*>(reinterpret_cast<char*>(cells) + pitch_bytes * y);
  // END SOLUTION
}

__global__ void copy_heaters_2d(int width, int height, cudaTextureObject_t heaters, float* cells,
                                std::size_t pitch_bytes) {
  // TODO(4): as copy_heaters.
  // BEGIN SOLUTION
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x < width && y < height) {
    const float heater =
        tex2D<float>(heaters, static_cast<float>(x) + 0.5F, static_cast<float>(y) + 0.5F);
    if (heater != 0) row_of(cells, pitch_bytes, y)[x] = heater;
  }
  // END SOLUTION
}

__global__ void blend_2d(int width, int height, cudaTextureObject_t input, float* output,
                         std::size_t pitch_bytes) {
  // TODO(4): as blend, without a word about edges.
  // BEGIN SOLUTION
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x < width && y < height) {
    const float u = static_cast<float>(x) + 0.5F, v = static_cast<float>(y) + 0.5F;
    row_of(output, pitch_bytes, y)[x] = blended(
        tex2D<float>(input, u, v), tex2D<float>(input, u, v - 1), tex2D<float>(input, u, v + 1),
        tex2D<float>(input, u - 1, v), tex2D<float>(input, u + 1, v));
  }
  // END SOLUTION
}

result simulate_texture_2d(const task& what) {
  // TODO(4): as before, in three pitched_buffers.
  // BEGIN SOLUTION
  // STUB: view_of(pitched_buffer(what.width, what.height));
  // STUB: throw not_written("step texture_2d", 4);
  pitched_buffer heaters(what.width, what.height);
  pitched_buffer one(what.width, what.height), other(what.width, what.height);
  heaters.copy_from(what.heaters);
  one.copy_from(what.initial);
  const texture_view heaters_view = view_of(heaters), one_view = view_of(one),
                     other_view = view_of(other);
  float *input = one.data(), *output = other.data();
  cudaTextureObject_t input_view = one_view.object(), output_view = other_view.object();
  const std::size_t pitch_bytes = one.pitch_bytes();  // other's too: it has the same width
  const dim3 blocks = blocks_of(kTile, kTile, what);

  const float kernel_ms = time_kernel([&] {
    for (int i = 0; i < what.steps; ++i) {
      copy_heaters_2d<<<blocks, kThreads>>>(what.width, what.height, heaters_view.object(), input,
                                            pitch_bytes);
      blend_2d<<<blocks, kThreads>>>(what.width, what.height, input_view, output, pitch_bytes);
      std::swap(input, output);
      std::swap(input_view, output_view);
    }
  });
  return {cells_at(input, pitch_bytes, what.width, what.height), kernel_ms};
  // END SOLUTION
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
  // BEGIN SOLUTION
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int top = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y) * kCells;
  if (x >= width || top >= height) return;  // no barrier follows

  // All loads come before the first sum, and none hangs on a condition: a row below the plate is
  // read as the last one, which is what the lowest cell wants, and its cell is not stored.
  const int to_left = x > 0 ? -1 : 0, to_right = x + 1 < width ? 1 : 0;
  float column[kCells + 2], left[kCells], right[kCells], heater[kCells];
#pragma unroll
  for (int i = 0; i < kCells + 2; ++i) {
    const int y = min(max(top + i - 1, 0), height - 1);
    const std::size_t here = static_cast<std::size_t>(y) * width + x;
    column[i] = input[here];
    if (i == 0 || i == kCells + 1) continue;  // the cells above and below are read, not made
    left[i - 1] = input[here + to_left];
    right[i - 1] = input[here + to_right];
    heater[i - 1] = heaters != nullptr ? heaters[here] : 0;
  }
#pragma unroll
  for (int i = 0; i < kCells; ++i) {
    const float next = blended(column[i + 1], column[i], column[i + 2], left[i], right[i]);
    const std::size_t here = static_cast<std::size_t>(top + i) * width + x;
    if (top + i < height) output[here] = heater[i] != 0 ? heater[i] : next;
  }
  // END SOLUTION
}

result simulate_fused(const task& what) {
  // TODO(5): copy_heaters once, if there is a step at all; then what.steps times blend_and_heat.
  // BEGIN SOLUTION
  // STUB: throw not_written("step fused", 5);
  const device_buffer<float> heaters(what.heaters);
  device_buffer<float> one(what.initial), other(what.count());
  float *input = one.data(), *output = other.data();
  const dim3 threads(kColumns, kRowsOfThreads);
  const dim3 blocks = blocks_of(kColumns, kRowsOfThreads * kCells, what);

  const float kernel_ms = time_kernel([&] {
    if (what.steps > 0) {
      copy_heaters<<<blocks_of(kTile, kTile, what), kThreads>>>(what.width, what.height,
                                                                heaters.data(), input);
    }
    for (int i = 0; i < what.steps; ++i) {
      const bool is_last = i + 1 == what.steps;
      blend_and_heat<<<blocks, threads>>>(what.width, what.height, input,
                                          is_last ? nullptr : heaters.data(), output);
      std::swap(input, output);
    }
  });
  return {cells_at(input, what.width, what.height), kernel_ms};
  // END SOLUTION
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
  // BEGIN SOLUTION
  // STUB: return y;
  while (y < 0 || y >= height) y = y < 0 ? -1 - y : 2 * height - 1 - y;
  return y;
  // END SOLUTION
}

/// `steps` is at most kTogether.
__global__ void __launch_bounds__(kTileWide* kTileHigh / kColumn)
    blend_several(int width, int height, int steps, const float* __restrict__ input,
                  const float* __restrict__ heaters, float* __restrict__ output) {
  // TODO(6, bonus): a thread's cells are kColumn rows of one column of the tile. It keeps them and
  //                 their heaters in registers, and in each time step applies the heaters, shows
  //                 its cells to the others in shared memory, and computes the new ones. Threads
  //                 outside of the plate take part: every thread has to reach every barrier.
  // BEGIN SOLUTION
  __shared__ float tile[kTileHigh][kTileWide];
  const int column = static_cast<int>(threadIdx.x);
  const int first = static_cast<int>(threadIdx.y) * kColumn;
  const int x = static_cast<int>(blockIdx.x) * (kTileWide - 2 * kTogether) - kTogether + column;
  const int top = static_cast<int>(blockIdx.y) * (kTileHigh - 2 * kTogether) - kTogether + first;

  float own[kColumn], heater[kColumn];
#pragma unroll
  for (int i = 0; i < kColumn; ++i) {
    const std::size_t row = mirrored(top + i, height);
    const std::size_t here = row * width + min(max(x, 0), width - 1);
    own[i] = input[here];
    heater[i] = heaters[here];
  }

  // No mirrors here: they would swap left and right, which are not added in the same order.
  const int left = x > 0 && column > 0 ? column - 1 : column;
  const int right = x + 1 < width && column + 1 < kTileWide ? column + 1 : column;
  const int above = max(first - 1, 0), below = min(first + kColumn, kTileHigh - 1);
  for (int s = 0; s < steps; ++s) {
#pragma unroll
    for (int i = 0; i < kColumn; ++i) {
      if (heater[i] != 0) own[i] = heater[i];
      tile[first + i][column] = own[i];
    }
    __syncthreads();  // the tile is complete
    float up = tile[above][column];
    const float lowest = tile[below][column];
#pragma unroll
    for (int i = 0; i < kColumn; ++i) {
      const float down = i + 1 < kColumn ? own[i + 1] : lowest;
      const float next = blended(own[i], up, down, tile[first + i][left], tile[first + i][right]);
      up = own[i];
      own[i] = next;
    }
    __syncthreads();  // everybody has read the tile
  }

  const bool has_inner_column = column >= kTogether && column < kTileWide - kTogether && x < width;
#pragma unroll
  for (int i = 0; i < kColumn; ++i) {
    const int row = first + i;  // of the tile
    if (has_inner_column && row >= kTogether && row < kTileHigh - kTogether && top + i < height)
      output[static_cast<std::size_t>(top + i) * width + x] = own[i];
  }
  // END SOLUTION
}

result simulate_several_steps(const task& what) {
  // TODO(6, bonus): launches of kTogether time steps, and a last one of those that are left. What
  //                 the blocks store has to cover the plate: less than their tiles.
  // BEGIN SOLUTION
  // STUB: throw not_written("step several_steps", 6);
  const device_buffer<float> heaters(what.heaters);
  device_buffer<float> one(what.initial), other(what.count());
  float *input = one.data(), *output = other.data();
  const dim3 threads(kTileWide, kTileHigh / kColumn);
  const dim3 blocks = blocks_of(kTileWide - 2 * kTogether, kTileHigh - 2 * kTogether, what);

  const float kernel_ms = time_kernel([&] {
    for (int done = 0; done < what.steps; done += kTogether) {
      blend_several<<<blocks, threads>>>(what.width, what.height,
                                         std::min(kTogether, what.steps - done), input,
                                         heaters.data(), output);
      std::swap(input, output);
    }
  });
  return {cells_at(input, what.width, what.height), kernel_ms};
  // END SOLUTION
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
