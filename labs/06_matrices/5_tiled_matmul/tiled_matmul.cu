// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.5 tiled_matmul: C = A · B, where what is loaded once is used many times.
// Edit:  this file, TODO(1) and TODO(2); TODO(3) to TODO(7) are a bonus. tiled_matmul.hpp says what
//        is asked for.
// Run:   scripts/lab run 06.5 -- --step tile_16     (tile_32, register_tiles)
// Test:  scripts/lab test 06.5
// Hints: scripts/lab hint 06.5                      Chapter: docs/06_matrices.md

#include <cuda_runtime.h>

#include <cstddef>
#include <string>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/time_kernel.hpp"
#include "tiled_matmul.hpp"

namespace lab::tiled_matmul {
namespace {

/// The grid of blocks that make `rows` x `columns` elements of C each. x goes along the columns.
dim3 grid_for(shape size, std::size_t rows, std::size_t columns) {
  int device = 0, limit = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxGridDimY, device));
  const std::size_t down = (size.m + rows - 1) / rows;
  const std::size_t across = (size.n + columns - 1) / columns;
  if (down > static_cast<std::size_t>(limit))
    throw invalid_input("tiled_matmul: " + std::to_string(size.m) + " rows need " +
                        std::to_string(down) + " rows of blocks, and a grid has at most " +
                        std::to_string(limit));
  return dim3(static_cast<unsigned>(across), static_cast<unsigned>(down));
}

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
// In `tiled` every multiply-add waits for two reads of shared memory, and there are four times as
// many multiply-adds a cycle as reads. Here a thread reads 8 numbers of A and 8 of B, and makes
// 64 multiply-adds of them: every number that comes out of shared memory is used 8 times.
//
// A block: 128 x 128 elements of C,         A warp: 32 x 64 of them, as 2 x 2 pieces of 16 x 32.
// made by 8 warps, in slices of 8 along k.  In each piece a lane owns 4 x 4:
//
//                 +--------+--------+                   columns  0   4   8      28   32 … 63
//        slice: 8 |        B        |                   rows    +---+---+--   --+---++--------
//                 +--------+--------+                    0 …  3 | 0 | 1 | 2 …   | 7 || 0 | 1 …
//         8         64       64                          4 …  7 | 8 | 9 | …     |15 || 8 | 9 …
//       +---+     +--------+--------+                    8 … 11 |16 |17 | …     |23 ||16 | …
//       |   | 32  | warp 0 | warp 1 |                   12 … 15 |24 |25 | …     |31 ||24 | …
//       |   |     +--------+--------+                           +===+===+==   ==+===++========
//       | A | 32  | warp 2 | warp 3 |                   16 … 31 | 0 | 1 | 2 …   | 7 || 0 | 1 …
//       |   |     +--------+--------+
//       |   | 32  | warp 4 | warp 5 |         Why pieces, and not 8 x 8 in one? Eight lanes read
//       |   |     +--------+--------+         4 floats of B each, 16 bytes apart: 128 bytes in a
//       |   | 32  | warp 6 | warp 7 |         row, all 32 banks once. Eight floats a lane would
//       +---+     +--------+--------+         put them 32 bytes apart: two lanes on each bank.
//
// Requires blocks of kThreads threads in one dimension.

constexpr unsigned kThreads = 256;
constexpr unsigned kWarp = 32;
constexpr unsigned kBlock = 128;  // rows and columns of C that a block makes
constexpr unsigned kSlice = 8;    // how much of k is in shared memory at a time
constexpr unsigned kFour = 4;     // a float4: what is loaded, stored and read at a time
constexpr unsigned kMine = 8;     // rows and columns of C that a thread makes, as two times kFour
constexpr unsigned kPieceRows = 16, kPieceColumns = 32;  // four rows of eight lanes, 4 x 4 each
constexpr unsigned kWarpRows = 2 * kPieceRows, kWarpColumns = 2 * kPieceColumns;
constexpr unsigned kPad = 4;  // floats behind each row of A in shared memory: see below

static_assert(kMine == 2 * kFour, "a thread's rows are four in one piece and four in the next");
static_assert((kPieceRows / kFour) * (kPieceColumns / kFour) == kWarp, "one 4 x 4 for each lane");
static_assert(kBlock * kBlock == kThreads * kMine * kMine, "the threads make all of the block's C");
static_assert(kBlock * kSlice == kThreads * kFour, "one float4 of A and one of B for each thread");
static_assert((kBlock + kPad) % kFour == 0, "rows in shared memory keep the alignment of float4");
static_assert(kFour * (kBlock + kPad) % 32 == 16, "storing A transposed hits every bank once");

/// What a block has of A and B at a time, in shared memory.
struct alignas(16) slice {
  float a[kSlice][kBlock + kPad];  // transposed, a[i][row]: a thread's four rows are neighbours
  float b[kSlice][kBlock];         // b[i][column]
};

/// A row and a column within the 128 x 128 elements of a block.
struct place {
  unsigned row, column;
};

/// The first of this thread's elements in the upper left piece of its warp. Its others are up to 3
/// further, and kPieceRows down, and kPieceColumns to the right.
__device__ place my_place() {
  constexpr unsigned kAcross = kBlock / kWarpColumns;       // warps next to each other
  constexpr unsigned kLanesAcross = kPieceColumns / kFour;  // lanes next to each other
  const unsigned warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  return {warp / kAcross * kWarpRows + lane / kLanesAcross * kFour,
          warp % kAcross * kWarpColumns + lane % kLanesAcross * kFour};
}

/// How far the i-th of a thread's 8 rows (or columns) is from its first; `piece` is kPieceRows (or
/// kPieceColumns).
__device__ constexpr unsigned offset(unsigned i, unsigned piece) {
  return i / kFour * piece + i % kFour;
}

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

/// Loads this thread's cargo for the slice that begins at `first`.
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

/// Reads four neighbours from shared memory, at a 16-byte boundary.
__device__ void read_four(const float* from, float* to) {
  const float4 four = *reinterpret_cast<const float4*>(from);
  to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
}

/// Adds the products of a slice to this thread's 8 x 8 sums.
__device__ void multiply_slice(const slice& from, place mine, float (&sum)[kMine][kMine]) {
  // TODO(5, bonus): for each i of the slice, read this thread's 8 numbers of A and its 8 of B (four
  //          and four, by read_four()), and add all 64 products to the sums. All loops have
  //          constant bounds and are unrolled: an array that is indexed by constants only can live
  //          in registers.
}

/// Stores this thread's 8 x 8 sums where C has such elements.
template <bool kAligned>
__device__ void store(const float (&sum)[kMine][kMine], place mine, float* c, shape size) {
#pragma unroll
  for (unsigned r = 0; r < kMine; ++r) {
    const std::size_t row = std::size_t{blockIdx.y} * kBlock + mine.row + offset(r, kPieceRows);
    if (row >= size.m) continue;
#pragma unroll
    for (unsigned s = 0; s < kMine; s += kFour) {
      const std::size_t column =
          std::size_t{blockIdx.x} * kBlock + mine.column + offset(s, kPieceColumns);
      float* to = c + row * size.n + column;
      if constexpr (kAligned) {
        if (column < size.n)
          *reinterpret_cast<float4*>(to) =
              make_float4(sum[r][s], sum[r][s + 1], sum[r][s + 2], sum[r][s + 3]);
      } else {
#pragma unroll
        for (unsigned j = 0; j < kFour; ++j)
          if (column + j < size.n) to[j] = sum[r][s + j];
      }
    }
  }
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

/// Whether `elements` is rows * columns; asked by division, since that product may overflow.
bool is_product(std::size_t elements, std::size_t rows, std::size_t columns) {
  if (rows == 0 || columns == 0) return elements == 0;
  return elements / rows == columns && elements % rows == 0;
}

void require_matrix(const char* name, std::size_t elements, std::size_t rows, std::size_t columns) {
  if (!is_product(elements, rows, columns))
    throw invalid_input(std::string("tiled_matmul: ") + name + " has " + std::to_string(elements) +
                        " elements, and " + std::to_string(rows) + " x " + std::to_string(columns) +
                        " are needed");
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
