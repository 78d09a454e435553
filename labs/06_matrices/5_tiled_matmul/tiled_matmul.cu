// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.5 tiled_matmul: C = A · B, where what is loaded once is used many times.
// Edit:  this file, TODO(1) and TODO(2); TODO(3) to TODO(7) are a bonus. tiled_matmul.hpp says what
//        is asked for.
// Run:   scripts/lab run 06.5 -- --step tile_16     (tile_32, register_tiles)
// Test:  scripts/lab test 06.5
// Hints: scripts/lab hint 06.5                      Chapter: docs/06_matrices.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::tiled_matmul {
namespace {

// --- tile_16, tile_32: a tile of A and a tile of B in shared memory ------------------------------
// Each element that a block loads is used kTile times: kTile times less is read from global
// memory than with a thread that walks along a row of A and down a column of B by itself.
// Requires blocks of kTile x kTile threads, one for each element of the block's tile of C.

template <unsigned kTile>
__global__ void __launch_bounds__(kTile* kTile)
    tiled(const float* a, const float* b, float* c, shape size) {
  static_assert(kTile * kTile <= 1024, "a block has at most 1024 threads");
  // Aligned, so that the compiler can read a row of A four floats at a time.
  __shared__ alignas(16) float tile_a[kTile][kTile];  // [row of C][i]
  __shared__ float tile_b[kTile][kTile];              // [i][column of C]

  // TODO(1): this thread's element of C is the sum over i of A[row][i] * B[i][column]. Take the i
  //          in slices of kTile. For each slice the block's threads bring one tile of A and one of
  //          B into shared memory, each thread one element of either; then each thread adds the
  //          slice's kTile products to its sum.
  //          Invariants: nobody reads a tile that is not complete, and nobody overwrites a tile
  //          that somebody still reads. Every thread reaches every barrier.
  //          Where a tile sticks out of its matrix it holds zeros: they add nothing to a sum.
}

template <unsigned kTile>
void launch_tiled(const float* a, const float* b, float* c, shape size) {
  // TODO(2): launch tiled<kTile> with a block of kTile x kTile threads for each kTile x kTile
  //          elements of C: grid_for() counts the blocks.
  throw not_written("step tile_16 (or tile_32)", 1);  // 1 and 2 are these steps
}

// --- register_tiles: each thread makes 8 x 8 elements, in registers ------------------------------
// given.hpp has the sizes, and shows which elements of C belong to which thread.
// Requires blocks of kThreads threads in one dimension.

/// Four neighbours in a row of a matrix in global memory, zero where it has no such element.
/// `column` is a multiple of 4. Requires of kAligned that `columns` is a multiple of 4: then every
/// row begins on a 16-byte boundary, and four neighbours are all there or all not.
template <bool kAligned>
__device__ float4 load_four(const float* matrix, std::size_t rows, std::size_t columns,
                            std::size_t row, std::size_t column) {
  float4 four = make_float4(0, 0, 0, 0);
  // TODO(3, bonus): load them: if kAligned by one load of a float4, else one by one, each with its
  //          guard.
  return four;
}

/// What a thread carries from global memory into a slice: four neighbours in a row of A (two
/// threads have a row of the slice), and four in a row of B (a warp has a row of it).
struct cargo {
  float4 a, b;
};

/// Loads this thread's elements of the slice that begins at `first`.
template <bool kAligned>
__device__ cargo load(const float* a, const float* b, shape size, std::size_t first) {
  const unsigned t = threadIdx.x;
  return {load_four<kAligned>(a, size.m, size.k, std::size_t{blockIdx.y} * kBlock + t / 2,
                              first + t % 2 * kFour),
          load_four<kAligned>(b, size.k, size.n, first + t / kWarp,
                              std::size_t{blockIdx.x} * kBlock + t % kWarp * kFour)};
}

/// Puts it into shared memory.
__device__ void unload(const cargo& mine, slice& to) {
  const unsigned t = threadIdx.x;
  // TODO(4, bonus): the four numbers of B stay neighbours. Those of A lie along i, and `to.a` is
  //          transposed: they go into four rows of it. Look at load() for where they come from.
}

/// Adds the products of a slice to this thread's 8 x 8 sums.
__device__ void multiply_slice(const slice& from, place mine, float (&sum)[kMine][kMine]) {
  // TODO(5, bonus): for each i of the slice, read this thread's 8 numbers of A and its 8 of B (four
  //          and four, by read_four()), and add all 64 products to the sums. All loops have
  //          constant bounds and are unrolled: an array that is indexed by constants only can live
  //          in registers.
}

// At most 128 registers a thread, so that two blocks fit on a multiprocessor: while one waits at
// its barrier, the other multiplies.
template <bool kAligned>
__global__ void __launch_bounds__(kThreads, 2)
    register_tiles(const float* a, const float* b, float* c, shape size) {
  __shared__ slice slices[2];  // one is multiplied while the other is filled
  float sum[kMine][kMine] = {};
  const place mine = my_place();

  // TODO(6, bonus): for each slice: start loading the *next* one into registers, then
  //          multiply_slice() this one, and only then unload() the next: by that time it has
  //          arrived. Two slices in turn make one barrier enough. (Which of the two barriers of
  //          `tiled` is it?) A slice behind the end of k loads as zeros: it needs no `if`.
  store<kAligned>(sum, mine, c, size);
}

void launch_register_tiles(const float* a, const float* b, float* c, shape size) {
  // TODO(7, bonus): launch register_tiles<true> where the rows of A, B and C all begin on 16-byte
  //          boundaries (cudaMalloc gives 256), else register_tiles<false>.
  throw not_written("step register_tiles", 3);  // 3 to 7 are this step
}

// --- given ---------------------------------------------------------------------------------------

void launch(step which, const float* a, const float* b, float* c, shape size) {
  switch (which) {
    case step::tile_16:
      return launch_tiled<16>(a, b, c, size);
    case step::tile_32:
      return launch_tiled<32>(a, b, c, size);
    case step::register_tiles:
      return launch_register_tiles(a, b, c, size);
  }
  throw invalid_input("tiled_matmul: there is no such step");
}

}  // namespace

result multiply(step which, std::span<const float> a, std::span<const float> b, shape size) {
  require_matrix("A", a.size(), size.m, size.k);
  require_matrix("B", b.size(), size.k, size.n);
  if (size.m == 0 || size.n == 0) return {};  // a grid of no blocks would be an error

  const device_buffer device_a(a);
  const device_buffer device_b(b);
  device_buffer<float> device_c(size.m * size.n);

  const float kernel_ms =
      time_kernel([&] { launch(which, device_a.data(), device_b.data(), device_c.data(), size); });

  result out{device_c.to_vector()};  // waits until the kernel is done
  out.kernel_ms = kernel_ms;
  return out;
}

}  // namespace lab::tiled_matmul
