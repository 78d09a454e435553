// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 09.3 heat_interop: a simulation stays on the device, and is displayed without leaving it.
// Edit:  this nearly empty file: TODO(1) to TODO(4). heat_interop.hpp has the contract, and
//        given.hpp the two kernels of a time step, which are those of 08.4.
// Run:   scripts/lab run 09.3 -- --window          (or --out heat.png, for a browser)
// Test:  scripts/lab test 09.3
// Hints: scripts/lab hint 09.3                     Chapter: docs/09_graphics_interop.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::heat_interop {
namespace {

// TODO(1): a kernel: the colour of each cell (x, y), from a palette in device memory. The contract
//          has the index; __fmul_rn and __fsqrt_rn are a product and a root that are rounded on
//          their own. OpenGL has the lowest row first.

// TODO(2): the data that stays on the device during the animation, and a function for a frame: its
//          time steps, copy_heaters and blend, and then the colours of the buffer written last,
//          into the caller's pixels. The next frame continues from there. (Two device_buffers can
//          be swapped: their memory stays where it is.) An event_timer gets the time of all of it.

// TODO(3): step through_host: what is created once, and what is done for each frame. gl_picture
//          draws pixels in host memory.

// TODO(4): step interop, as in 09.2: what is created once, and what is done for each frame. The
//          buffer is mapped as long as a kernel writes to it, and no longer.

}  // namespace

frame_callback animate(step version, const plate& start, std::span<const rgba> colours,
                       int steps_per_frame) {
  require_good(start, colours, steps_per_frame);
  // TODO(3), TODO(4): a function that draws a frame of a plate made here, once, and not in each
  //          call. All copies of the function share the plate: std::shared_ptr.
  throw not_written("the animation", 1);
}

}  // namespace lab::heat_interop
