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

// TODO(2): step blocks_16x16: a kernel that stores its pixel, a uchar4, at its index, and a
//          function (int width, int height, int tick, uchar4* pixels) that launches it with enough
//          tiles to cover the picture. Threads outside the picture do nothing.

// TODO(3): step flat_256: the same with the threads of the grid numbered in one long row, 256 to a
//          block: thread i draws pixels[i]. Multiply as std::size_t.

}  // namespace

result frame(step version, int width, int height, int tick) {
  // TODO(4): a single frame of an animation, drawn into a bitmap(width, height).
  if (version == step::blocks_16x16) throw not_written("step blocks_16x16", 1);
  throw not_written("step flat_256", 3);
}

frame_callback animate(step version, int width, int height) {
  // TODO(4): host_part_of_animate() of given.hpp checks, allocates once, times and copies. Pass it
  //          the function that launches the step's kernel.
  if (version == step::blocks_16x16) throw not_written("step blocks_16x16", 1);
  throw not_written("step flat_256", 3);
}

}  // namespace lab::ripple
