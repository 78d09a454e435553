// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 04.1 julia_set: one thread per pixel, first in a grid of lonely threads, then in 16 x 16 blocks.
// Edit:  this file, from TODO(1) to TODO(4). julia_set.hpp has the formulas.
// Run:   scripts/lab run 04.1 -- --step one_thread_per_block     (writes julia_set.png)
// Test:  scripts/lab test 04.1
// Hints: scripts/lab hint 04.1                                   Chapter: docs/04_images.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::julia_set {
namespace {

constexpr int kTile = 16;  // a block of blocks_16x16 is kTile x kTile threads

// --- what one pixel needs ------------------------------------------------------------------------

// A complex number in a kernel. What kernels call is marked __device__: the compiler makes GPU
// code of it. __fmul_rn, __fadd_rn and __fsub_rn are *, + and - that the compiler keeps apart:
// it may otherwise merge a * b + c into one instruction with one rounding, and a pixel at the
// edge of the set then counts differently from the reference.
struct complex {
  float re = 0, im = 0;

  // TODO(1): the sum, the square and the squared distance from 0, as julia_set.hpp has them.
  __device__ complex operator+(complex other) const {
    return *this;  // not yet
  }
  __device__ complex squared() const {
    return *this;  // not yet
  }
  __device__ float magnitude2() const {
    return 0;  // not yet
  }
};

__device__ int iterations_of(const view& what, int x, int y) {
  const float2 start = start_of(what, x, y);
  complex z{start.x, start.y};
  // TODO(2): z = z * z + c, max_iterations times at most; return how many of them z survived
  //          before its magnitude2() exceeded kEscaped.
  return -1;
}

// --- one_thread_per_block: one block per pixel ---------------------------------------------------
// Requires a picture no larger than a grid can be: in y, that is 65 535 blocks.

__global__ void one_thread_per_block(view what, int* iterations) {
  // TODO(3): this block's pixel is (blockIdx.x, blockIdx.y). Store its iterations_of() in its
  //          place: row by row, [y * width + x].
}

dim3 grid_of_one_thread_per_block(const view& what) {
  // TODO(3): a block for each pixel.
  throw not_written("step one_thread_per_block", 1);  // 1, 2 and 3 are this step
}

// --- blocks_16x16: one block per tile of the picture ---------------------------------------------
// Requires the guard: where width or height is not a multiple of 16, the last blocks overhang.

__global__ void blocks_16x16(view what, int* iterations) {
  // TODO(4): the pixel of this thread of this block; x is the coordinate in which threads of a
  //          warp are neighbours. Threads outside the picture do nothing.
}

dim3 grid_of_blocks_16x16(const view& what) {
  // TODO(4): enough tiles of kTile x kTile to cover the picture, and not one row or column more.
  throw not_written("step blocks_16x16", 4);
}

}  // namespace

result compute(step which, const view& what) {
  const bool alone = which == step::one_thread_per_block;
  const auto launch = [&](dim3 blocks, int* iterations) {
    if (alone)
      one_thread_per_block<<<blocks, 1>>>(what, iterations);
    else
      blocks_16x16<<<blocks, dim3(kTile, kTile)>>>(what, iterations);
  };
  return host_part_of_compute(what, alone ? grid_of_one_thread_per_block : grid_of_blocks_16x16,
                              launch);
}

}  // namespace lab::julia_set
