// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.3 shared_bitmap: a picture drawn through shared memory, with a barrier missing.
// Edit:  this file: TODO(1) and TODO(2). shared_bitmap.hpp says what the picture shows.
// Run:   scripts/lab run 05.3       and look at shared_bitmap.png
// Test:  scripts/lab test 05.3
// Hints: scripts/lab hint 05.3      Chapter: docs/05_shared_memory.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::shared_bitmap {
namespace {

/// One period of a wave, in device memory.
struct wave {
  const int* values;
  unsigned period;
};

// A block draws a tile: each thread computes one point, and shows another thread's.
// TODO(1): a barrier is missing. Run the program, look at the picture, and run `scripts/lab check
//          05.3`: it names two lines. Where must the barrier be, and where would it do nothing?
// TODO(2): with the barrier, pictures whose sides are not multiples of kTile are still wrong (try
//          --width 1000). Which threads must not leave early, and which points are missing?
//          Invariant: after the barrier the tile is complete, and only pixels of the picture are
//          written.
__global__ void draw_tiles(int width, int height, wave across, wave down, int* greens) {
  __shared__ int tile[kTile][kTile];
  const unsigned i = threadIdx.x, j = threadIdx.y;  // the position in the tile
  const unsigned x = blockIdx.x * kTile + i;
  const unsigned y = blockIdx.y * kTile + j;
  const bool in_picture = x < static_cast<unsigned>(width) && y < static_cast<unsigned>(height);
  // BEGIN SOLUTION
  // STUB: if (!in_picture) return;
  // STUB:
  // STUB: tile[i][j] = across.values[x % across.period] * down.values[y % down.period] / kBright;
  // STUB: greens[std::size_t{y} * width + x] = tile[kTile - 1 - i][kTile - 1 - j];
  // Points outside the picture, too: rotated, they may be inside.
  tile[i][j] = across.values[x % across.period] * down.values[y % down.period] / kBright;
  __syncthreads();  // the tile is complete; no thread has returned early
  if (in_picture) greens[std::size_t{y} * width + x] = tile[kTile - 1 - i][kTile - 1 - j];
  // END SOLUTION
}

}  // namespace

// --- given ---------------------------------------------------------------------------------------

result draw(int width, int height, std::span<const int> across, std::span<const int> down) {
  const dim3 blocks = grid_for(width, height);
  require_wave(across, "across");
  require_wave(down, "down");

  const device_buffer device_across(across), device_down(down);
  device_buffer<int> greens(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  const float kernel_ms = time_kernel([&] {
    draw_tiles<<<blocks, dim3(kTile, kTile)>>>(
        width, height, {device_across.data(), static_cast<unsigned>(across.size())},
        {device_down.data(), static_cast<unsigned>(down.size())}, greens.data());
  });
  return {greens.to_vector(), kernel_ms};
}

}  // namespace lab::shared_bitmap
