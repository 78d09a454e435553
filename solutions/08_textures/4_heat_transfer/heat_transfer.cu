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
  // BEGIN SOLUTION
  // STUB: return own;
  const float around = __fadd_rn(__fadd_rn(__fadd_rn(up, down), left), right);
  return __fadd_rn(own, __fmul_rn(kSpeed, __fsub_rn(around, __fmul_rn(4, own))));
  // END SOLUTION
}

// --- global_memory: two kernels per step, and two buffers that take turns ------------------------
// No cell may be overwritten while a neighbour still reads it, so the new temperatures go into
// another buffer. Requires that the buffers change their roles after each step, and that the
// result is read from the right one.

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
  // TODO(2): the new temperature of this thread's cell. Where a neighbour is missing, use the cell.
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

result simulate_global_memory(const task& plate) {
  // TODO(2): the memory, and what.steps times both kernels. kernel_ms is the time of all of them,
  //          without the copies and the allocations.
  // BEGIN SOLUTION
  // STUB: throw not_written("step global_memory", 1);  // 1 and 2 are this step
  const device_buffer<float> heaters(plate.heaters);
  device_buffer<float> one(plate.initial), other(plate.count());
  float *input = one.data(), *output = other.data();
  const dim3 blocks = blocks_of(kTile, kTile, plate);

  const float kernel_ms = time_kernel([&] {
    for (int i = 0; i < plate.steps; ++i) {
      copy_heaters<<<blocks, kThreads>>>(plate.width, plate.height, heaters.data(), input);
      blend<<<blocks, kThreads>>>(plate.width, plate.height, input, output);
      std::swap(input, output);  // the newest cells are the next step's input, or the result
    }
  });
  return {cells_at(input, plate.width, plate.height), kernel_ms};
  // END SOLUTION
}

// --- texture_1d: the same, read through textures over linear memory ------------------------------
// A texture object is a read-only view of memory that it does not own. tex1Dfetch<float>(view, i)
// reads element i. Requires one view for each buffer: the views must take turns as the buffers do.

texture_view view_of(const device_buffer<float>& cells) {
  // TODO(3): a cudaResourceDesc for the memory, and a cudaTextureDesc for how it is read; both
  //          start as {}. Linear memory of floats: its address, its number of bytes, the format of
  //          an element (cudaCreateChannelDesc<float>()). Read unchanged: cudaReadModeElementType.
  // BEGIN SOLUTION
  // STUB: throw not_written("step texture_1d", 3);
  cudaResourceDesc memory = {};
  cudaTextureDesc description = {};
  memory.resType = cudaResourceTypeLinear;
  memory.res.linear.devPtr = const_cast<float*>(cells.data());  // a texture does not write
  memory.res.linear.sizeInBytes = cells.size_bytes();
  memory.res.linear.desc = cudaCreateChannelDesc<float>();
  description.readMode = cudaReadModeElementType;
  return texture_view(memory, description);
  // END SOLUTION
}

__global__ void copy_heaters_1d(int width, int height, cudaTextureObject_t heaters, float* cells) {
  // TODO(3): like copy_heaters, but the heaters are fetched. The cells are written as before.
  // BEGIN SOLUTION
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x < width && y < height) {
    const int i = y * width + x;  // an int, as tex1Dfetch requires: the host has checked the size
    const float heater = tex1Dfetch<float>(heaters, i);
    if (heater != 0) cells[i] = heater;
  }
  // END SOLUTION
}

__global__ void blend_1d(int width, int height, cudaTextureObject_t input, float* output) {
  // TODO(3): like blend. tex1Dfetch has no rows: you still have to handle the edges.
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

result simulate_texture_1d(const task& plate) {
  // TODO(3): as before, with a view of the heaters and one of each buffer. Whatever you swap,
  //          the kernels must read the buffer that was written last.
  // BEGIN SOLUTION
  // STUB: view_of(device_buffer<float>(plate.initial));
  // STUB: throw not_written("step texture_1d", 3);
  const device_buffer<float> heaters(plate.heaters);
  device_buffer<float> one(plate.initial), other(plate.count());
  const texture_view heaters_view = view_of(heaters), one_view = view_of(one),
                     other_view = view_of(other);
  float *input = one.data(), *output = other.data();
  cudaTextureObject_t input_view = one_view.object(), output_view = other_view.object();
  const dim3 blocks = blocks_of(kTile, kTile, plate);

  const float kernel_ms = time_kernel([&] {
    for (int i = 0; i < plate.steps; ++i) {
      copy_heaters_1d<<<blocks, kThreads>>>(plate.width, plate.height, heaters_view.object(),
                                            input);
      // A texture's cache may miss writes of the same kernel; the previous kernel wrote input.
      blend_1d<<<blocks, kThreads>>>(plate.width, plate.height, input_view, output);
      std::swap(input, output);
      std::swap(input_view, output_view);
    }
  });
  return {cells_at(input, plate.width, plate.height), kernel_ms};
  // END SOLUTION
}

// --- texture_2d: the texture has rows, and clamps at the edges -----------------------------------
// tex2D<float>(view, x, y) takes *coordinates*: the centre of cell (x, y) is (x + 0.5, y + 0.5).
// Requires memory whose rows are aligned as textures require, and the right address mode.

texture_view view_of(const pitched_buffer& cells) {
  // TODO(4): again a cudaResourceDesc and a cudaTextureDesc. Pitched memory of floats. Outside the
  //          plate, the nearest cell; no interpolation; x and y in units of cells. Set all of
  //          these, even those that are 0.
  // BEGIN SOLUTION
  // STUB: throw not_written("step texture_2d", 4);
  cudaResourceDesc memory = {};
  cudaTextureDesc description = {};
  memory.resType = cudaResourceTypePitch2D;
  memory.res.pitch2D.devPtr = cells.data();
  memory.res.pitch2D.width = static_cast<std::size_t>(cells.width());
  memory.res.pitch2D.height = static_cast<std::size_t>(cells.height());
  memory.res.pitch2D.pitchInBytes = cells.pitch_bytes();
  memory.res.pitch2D.desc = cudaCreateChannelDesc<float>();
  description.addressMode[0] = cudaAddressModeClamp;  // x
  description.addressMode[1] = cudaAddressModeClamp;  // y
  description.filterMode = cudaFilterModePoint;
  description.readMode = cudaReadModeElementType;
  description.normalizedCoords = 0;
  return texture_view(memory, description);
  // END SOLUTION
}

/// The address of row y in pitched memory.
__device__ float* row_of(float* cells, std::size_t pitch_bytes, int y) {
  // TODO(4): the pitch is in bytes.
  // BEGIN SOLUTION
  // STUB: return cells;
  return reinterpret_cast<float*>(reinterpret_cast<char*>(cells) + pitch_bytes * y);
  // END SOLUTION
}

__global__ void copy_heaters_2d(int width, int height, cudaTextureObject_t heaters, float* cells,
                                std::size_t pitch_bytes) {
  // TODO(4): like copy_heaters.
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
  // TODO(4): like blend, with no code for the edges.
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

result simulate_texture_2d(const task& plate) {
  // TODO(4): as before, in three pitched_buffers.
  // BEGIN SOLUTION
  // STUB: view_of(pitched_buffer(plate.width, plate.height));
  // STUB: throw not_written("step texture_2d", 4);
  pitched_buffer heaters(plate.width, plate.height);
  pitched_buffer one(plate.width, plate.height), other(plate.width, plate.height);
  heaters.copy_from(plate.heaters);
  one.copy_from(plate.initial);
  const texture_view heaters_view = view_of(heaters), one_view = view_of(one),
                     other_view = view_of(other);
  float *input = one.data(), *output = other.data();
  cudaTextureObject_t input_view = one_view.object(), output_view = other_view.object();
  const std::size_t pitch_bytes = one.pitch_bytes();  // also of other, which has the same width
  const dim3 blocks = blocks_of(kTile, kTile, plate);

  const float kernel_ms = time_kernel([&] {
    for (int i = 0; i < plate.steps; ++i) {
      copy_heaters_2d<<<blocks, kThreads>>>(plate.width, plate.height, heaters_view.object(), input,
                                            pitch_bytes);
      blend_2d<<<blocks, kThreads>>>(plate.width, plate.height, input_view, output, pitch_bytes);
      std::swap(input, output);
      std::swap(input_view, output_view);
    }
  });
  return {cells_at(input, pitch_bytes, plate.width, plate.height), kernel_ms};
  // END SOLUTION
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
  // BEGIN SOLUTION
  // STUB: return cell;
  return heater != 0 ? heater : cell;
  // END SOLUTION
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
  // BEGIN SOLUTION
  // STUB: return own;
  return {blended(own.x, up.x, down.x, left, last == 0 ? own.x : own.y),
          blended(own.y, up.y, down.y, own.x, last == 1 ? own.y : own.z),
          blended(own.z, up.z, down.z, own.y, last == 2 ? own.z : own.w),
          blended(own.w, up.w, down.w, own.z, last == 3 ? own.w : right)};
  // END SOLUTION
}

/// A row of each array has `pitch` float4.
__global__ void heat_and_blend(int width, int height, std::size_t pitch,
                               const float4* __restrict__ input, const float4* __restrict__ heaters,
                               float4* __restrict__ output) {
  // TODO(5): this thread's float4 are number `column` of the rows top to top + kRows - 1, if they
  //          are on the plate. Those from the row above to the row below are read only once.
  // BEGIN SOLUTION
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int top = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y) * kRows;
  const int last = width - 1 - column * kVector;
  if (last < 0 || top >= height) return;  // no barrier follows

  // All loads come before the first sum. A row below the plate is read as the last row, as the
  // lowest cells need it, and is not stored.
  float4 cells[kRows + 2];
  float left[kRows], right[kRows];
#pragma unroll
  for (int i = 0; i < kRows + 2; ++i) {
    const std::size_t here = min(max(top + i - 1, 0), height - 1) * pitch + column;
    cells[i] = heated(input[here], heaters[here]);
    if (i == 0 || i == kRows + 1) continue;  // the rows above and below are only read
    left[i - 1] = column > 0 ? heated(input[here - 1].w, heaters[here - 1].w) : cells[i].x;
    right[i - 1] = last >= kVector ? heated(input[here + 1].x, heaters[here + 1].x) : 0;
  }
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    if (top + i >= height) continue;
    output[(top + i) * pitch + column] =
        blended(cells[i + 1], cells[i], cells[i + 2], left[i], right[i], last);
  }
  // END SOLUTION
}

result simulate_fused(const task& plate) {
  // TODO(5): three pitched_buffers, whose vectors() are float4, and what.steps times the kernel.
  // BEGIN SOLUTION
  // STUB: throw not_written("step fused", 5);
  pitched_buffer heaters(plate.width, plate.height);
  pitched_buffer one(plate.width, plate.height), other(plate.width, plate.height);
  heaters.copy_from(plate.heaters);
  one.copy_from(plate.initial);
  float4 *input = one.vectors(), *output = other.vectors();
  const dim3 threads(kColumns, kThreadRows);
  const dim3 blocks = blocks_of(kColumns * kVector, kThreadRows * kRows, plate);

  const float kernel_ms = time_kernel([&] {
    for (int i = 0; i < plate.steps; ++i) {
      heat_and_blend<<<blocks, threads>>>(plate.width, plate.height, one.vectors_per_row(), input,
                                          heaters.vectors(), output);
      std::swap(input, output);
    }
  });
  return {cells_at(&input->x, one.pitch_bytes(), plate.width, plate.height), kernel_ms};
  // END SOLUTION
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
  // BEGIN SOLUTION
  // STUB: return min(max(y, 0), height - 1);
  while (y < 0 || y >= height) y = y < 0 ? -1 - y : 2 * height - 1 - y;
  return y;
  // END SOLUTION
}

/// `steps` is at most kTogether. Two blocks per multiprocessor: one computes while the other loads.
__global__ void __launch_bounds__(kColumns* kWarps, 2)
    take_steps(int width, int height, std::size_t pitch, int steps,
               const float4* __restrict__ input, const float4* __restrict__ heaters,
               float4* __restrict__ output) {
  // TODO(6, bonus): load this thread's kTileRows float4 and their heaters. In each time step apply
  //                 the heaters, pass your first and your last row to the warps above and below,
  //                 and blend. Store the cells that are on the plate and not in the halo.
  // BEGIN SOLUTION
  __shared__ float4 tops[2][kWarps][kColumns], bottoms[2][kWarps][kColumns];
  const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
  const int column = static_cast<int>(blockIdx.x) * kInnerColumns - kHaloColumns + lane;
  const int first = warp * kTileRows;  // row of the tile
  const int top = static_cast<int>(blockIdx.y) * kInnerHeight - kTogether + first;  // of the plate
  const int last = width - 1 - column * kVector;

  float4 own[kTileRows], heater[kTileRows];
  const int nearest = min(max(column, 0), (width - 1) / kVector);  // the nearest on the plate
#pragma unroll
  for (int i = 0; i < kTileRows; ++i) {
    const std::size_t here = mirrored(top + i, height) * pitch + nearest;
    own[i] = input[here];
    heater[i] = heaters[here];
  }

  for (int s = 0; s < steps; ++s) {
#pragma unroll
    for (int i = 0; i < kTileRows; ++i) own[i] = heated(own[i], heater[i]);
    const int turn = s % 2;  // a slow warp may still be reading the other set
    tops[turn][warp][lane] = own[0];
    bottoms[turn][warp][lane] = own[kTileRows - 1];
    __syncthreads();
    float4 up = bottoms[turn][max(warp - 1, 0)][lane];
    const float4 below = tops[turn][min(warp + 1, kWarps - 1)][lane];
#pragma unroll
    for (int i = 0; i < kTileRows; ++i) {
      const float4 now = own[i], down = i + 1 < kTileRows ? own[i + 1] : below;
      const float left = __shfl_up_sync(kAllLanes, now.w, 1);
      const float right = __shfl_down_sync(kAllLanes, now.x, 1);
      // No mirrors here: they would swap left and right, which are not added in the same order.
      own[i] = blended(now, up, down, column == 0 ? now.x : left, right, last);
      up = now;
    }
  }

  const bool in_halo = lane < kHaloColumns || lane >= kColumns - kHaloColumns;
#pragma unroll
  for (int i = 0; i < kTileRows; ++i) {
    const int row = first + i;
    if (!in_halo && last >= 0 && row >= kTogether && row < kTileHeight - kTogether &&
        top + i < height)
      output[(top + i) * pitch + column] = own[i];
  }
  // END SOLUTION
}

result simulate_several_steps(const task& plate) {
  // TODO(6, bonus): launches of kTogether time steps, and a last one for the rest. The cells that
  //                 the blocks store must cover the plate: they are fewer than their tiles have.
  // BEGIN SOLUTION
  // STUB: throw not_written("step several_steps", 6);
  pitched_buffer heaters(plate.width, plate.height);
  pitched_buffer one(plate.width, plate.height), other(plate.width, plate.height);
  heaters.copy_from(plate.heaters);
  one.copy_from(plate.initial);
  float4 *input = one.vectors(), *output = other.vectors();
  const dim3 threads(kColumns, kWarps);
  const dim3 blocks = blocks_of(kInnerColumns * kVector, kInnerHeight, plate);

  const float kernel_ms = time_kernel([&] {
    for (int done = 0; done < plate.steps; done += kTogether) {
      take_steps<<<blocks, threads>>>(plate.width, plate.height, one.vectors_per_row(),
                                      std::min(kTogether, plate.steps - done), input,
                                      heaters.vectors(), output);
      std::swap(input, output);
    }
  });
  return {cells_at(&input->x, one.pitch_bytes(), plate.width, plate.height), kernel_ms};
  // END SOLUTION
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
