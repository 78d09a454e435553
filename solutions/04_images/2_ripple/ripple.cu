// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 04.2 ripple: a picture that moves, frame by frame in the same device memory.
// Edit:  this nearly empty file: TODO(1) to TODO(4). ripple.hpp has the formula.
// Run:   scripts/lab run 04.2 -- --out ripple.png     (an animation: open it in a browser)
// Test:  scripts/lab test 04.2
// Hints: scripts/lab hint 04.2                        Chapter: docs/04_images.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::ripple {
namespace {

// TODO(1): what a pixel needs. First, on the host and in double, the remainder of tick / 7 after
//          whole turns of 2 pi: a float has about seven digits, and the longer the animation runs,
//          the fewer of them are after the point. Second, on the device and in float, the grey
//          value with that phase. Integer arithmetic must not drop the fractions.
// BEGIN SOLUTION
constexpr int kTile = 16;      // a block of blocks_16x16 is kTile x kTile threads
constexpr int kThreads = 256;  // a block of flat_256 is as large, but all in one row

// Pixels in device memory are uchar4: the four bytes of an rgba, but aligned to four, so a thread
// stores its pixel in one piece. make_uchar4(red, green, blue, opacity) makes one.

// --- what one pixel needs ------------------------------------------------------------------------

/// tick / 7, minus whole turns of the cosine. It is the same for all pixels, so the host computes
/// it, once per frame and in double: a float has about seven digits, and the longer the animation
/// runs, the fewer of those of tick / 7 are after the point.
float phase_of(int tick) {
  return static_cast<float>(std::fmod(tick / 7.0, 2 * std::numbers::pi));  // of a whole turn
}

__device__ unsigned char grey_at(int width, int height, float phase, int x, int y) {
  const float dx = static_cast<float>(x) - static_cast<float>(width) / 2;
  const float dy = static_cast<float>(y) - static_cast<float>(height) / 2;
  const float u = sqrtf(dx * dx + dy * dy) / 10;
  return static_cast<unsigned char>(128 + 127 * cosf(u - phase) / (u + 1));
}
// END SOLUTION

// TODO(2): step blocks_16x16: a kernel that stores its pixel, a uchar4, at its index, and a
//          function (int width, int height, int tick, uchar4* pixels) that launches it with enough
//          tiles to cover the picture. Threads outside the picture do nothing.
// BEGIN SOLUTION
// --- blocks_16x16: one block per tile of the picture ---------------------------------------------
// Requires a guard in both directions.

__global__ void blocks_16x16(int width, int height, float phase, uchar4* pixels) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x < width && y < height) {
    const unsigned char grey = grey_at(width, height, phase, x, y);
    pixels[static_cast<std::size_t>(y) * width + x] = make_uchar4(grey, grey, grey, 255);
  }
}

void launch_blocks_16x16(int width, int height, int tick, uchar4* pixels) {
  const dim3 blocks(static_cast<unsigned>((width + kTile - 1) / kTile),
                    static_cast<unsigned>((height + kTile - 1) / kTile));
  blocks_16x16<<<blocks, dim3(kTile, kTile)>>>(width, height, phase_of(tick), pixels);
}
// END SOLUTION

// TODO(3): step flat_256: the same with the threads of the grid numbered in one long row, 256 to a
//          block: thread i draws pixels[i]. Multiply as std::size_t.
// BEGIN SOLUTION
// --- flat_256: the pixels are one long row -------------------------------------------------------
// One guard, and only the last block can have idle threads. Requires a division and its remainder
// to find x and y again.

__global__ void flat_256(int width, int height, float phase, uchar4* pixels) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < static_cast<std::size_t>(width) * height) {
    const int x = static_cast<int>(i % width);
    const int y = static_cast<int>(i / width);
    const unsigned char grey = grey_at(width, height, phase, x, y);
    pixels[i] = make_uchar4(grey, grey, grey, 255);
  }
}

void launch_flat_256(int width, int height, int tick, uchar4* pixels) {
  const std::size_t count = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  flat_256<<<blocks, kThreads>>>(width, height, phase_of(tick), pixels);
}
// END SOLUTION

}  // namespace

result frame(step version, int width, int height, int tick) {
  // TODO(4): a single frame of an animation, drawn into a bitmap(width, height).
  // BEGIN SOLUTION
  // STUB: if (version == step::blocks_16x16) throw not_written("step blocks_16x16", 1);
  // STUB: throw not_written("step flat_256", 3);
  const frame_callback draw_once = animate(version, width, height);
  bitmap picture(width, height);
  const float kernel_ms = draw_once(picture, tick);
  return {std::move(picture), kernel_ms};
  // END SOLUTION
}

frame_callback animate(step version, int width, int height) {
  // TODO(4): host_part_of_animate() of given.hpp checks, allocates once, times and copies. Pass it
  //          the function that launches the step's kernel.
  // BEGIN SOLUTION
  // STUB: if (version == step::blocks_16x16) throw not_written("step blocks_16x16", 1);
  // STUB: throw not_written("step flat_256", 3);
  return host_part_of_animate(version == step::blocks_16x16 ? launch_blocks_16x16 : launch_flat_256,
                              width, height);
  // END SOLUTION
}

}  // namespace lab::ripple
