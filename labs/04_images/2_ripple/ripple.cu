// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 04.2 ripple: a picture that moves, frame by frame in the same device memory.
// Edit:  this file, from TODO(1) to TODO(4). ripple.hpp has the formula.
// Run:   scripts/lab run 04.2 -- --out ripple.png     (an animation: open it in a browser)
// Test:  scripts/lab test 04.2
// Hints: scripts/lab hint 04.2                        Chapter: docs/04_images.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::ripple {
namespace {

constexpr int kTile = 16;      // a block of blocks_16x16 is kTile x kTile threads
constexpr int kThreads = 256;  // a block of flat_256 is as large, but all in one row

// Pixels in device memory are uchar4: the four bytes of an rgba, but aligned to four, so that a
// thread stores its pixel at once. make_uchar4(red, green, blue, opacity) makes one.

// --- what one pixel needs ------------------------------------------------------------------------

/// tick / 7, less whole turns of the cosine. It is the same for all pixels, so the host works it
/// out, once a frame and in double: a float has some seven digits, and those of tick / 7 that
/// are after the point get fewer the longer the animation runs.
float phase_of(int tick) {
  // TODO(1): the remainder of tick / 7 after whole turns of 2 pi. (std::fmod, std::numbers::pi)
  return 0;
}

__device__ unsigned char grey_at(int width, int height, float phase, int x, int y) {
  // TODO(1): the formula in ripple.hpp, in floats: sqrtf, cosf. The halves of width and height
  //          are real numbers; a whole number must not lose what is behind the point.
  return 0;
}

// --- blocks_16x16: one block per tile of the picture ---------------------------------------------
// Requires a guard in both directions.

__global__ void blocks_16x16(int width, int height, float phase, uchar4* pixels) {
  // TODO(2): this thread's pixel (x, y), grey_at() three times and opaque, in its place. Threads
  //          outside the picture do nothing.
}

dim3 grid_of_blocks_16x16(int width, int height) {
  // TODO(2): enough tiles to cover the picture.
  throw not_written("step blocks_16x16", 1);  // 1 and 2 are this step
}

// --- flat_256: the pixels are one long row -------------------------------------------------------
// One guard, and only the last block can have idle threads. Requires a division and its remainder
// to find x and y again.

__global__ void flat_256(int width, int height, float phase, uchar4* pixels) {
  // TODO(3): number the threads of the grid: thread i draws pixels[i]. Which x and y is that?
}

dim3 grid_of_flat_256(int width, int height) {
  // TODO(3): enough blocks of kThreads for all pixels. Multiply as std::size_t.
  throw not_written("step flat_256", 3);
}

// --- given: one frame ----------------------------------------------------------------------------

/// The device's side of an animation: how to launch, and the memory of a picture.
class canvas {
 public:
  canvas(step which, int width, int height)
      : which_(which),
        width_(width),
        height_(height),
        blocks_(good_grid(which, width, height)),
        pixels_(static_cast<std::size_t>(width) * static_cast<std::size_t>(height)) {}

  /// Draws on the device, copies to `picture`, which has the canvas's size; the kernel's time.
  float draw(bitmap& picture, int tick) {
    const float phase = phase_of(tick);
    const float kernel_ms = time_kernel([&] {
      if (which_ == step::blocks_16x16)
        blocks_16x16<<<blocks_, dim3(kTile, kTile)>>>(width_, height_, phase, pixels_.data());
      else
        flat_256<<<blocks_, kThreads>>>(width_, height_, phase, pixels_.data());
    });
    // An rgba and a uchar4 are the same four bytes.
    CUDA_CHECK(cudaMemcpy(picture.pixels().data(), pixels_.data(), pixels_.size_bytes(),
                          cudaMemcpyDeviceToHost));
    return kernel_ms;
  }

 private:
  static dim3 good_grid(step which, int width, int height) {
    require_good(width, height);
    return which == step::blocks_16x16 ? grid_of_blocks_16x16(width, height)
                                       : grid_of_flat_256(width, height);
  }

  step which_;
  int width_, height_;
  dim3 blocks_;
  device_buffer<uchar4> pixels_;
};

}  // namespace

result frame(step which, int width, int height, int tick) {
  canvas device_side(which, width, height);
  bitmap picture(width, height);
  const float kernel_ms = device_side.draw(picture, tick);
  return {std::move(picture), kernel_ms};
}

// --- the animation: one canvas, many frames ------------------------------------------------------

frame_callback animate(step which, int width, int height) {
  // TODO(4): return a lambda that draws on a canvas made here, once, and not in each call. A
  //          std::function can be copied and a canvas cannot: let the copies share it.
  //          A picture that has not the canvas's size is refused before anything is drawn.
  throw not_written("the animation", 4);
}

}  // namespace lab::ripple
