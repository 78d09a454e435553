// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.5 tiled_matmul: C = A · B, where each element that is loaded is used many times.
// Edit:  this file, TODO(1) to TODO(5); TODO(6) to TODO(12) are a bonus. tiled_matmul.hpp has the
//        contract, step by step.
// Run:   scripts/lab run 06.5 -- --step tile_16     (--help names the other steps)
// Test:  scripts/lab test 06.5
// Hints: scripts/lab hint 06.5                      Chapter: docs/06_matrices.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::tiled_matmul {
namespace {

// --- tile_16, tile_32: a tile of A and a tile of B in shared memory ------------------------------
// Each element that a block loads is used kTile times. So the kernel reads only 1 / kTile as much
// global memory as if each thread loaded its own row of A and column of B.
// Requires blocks of kTile x kTile threads, one for each element of the block's tile of C.

template <unsigned kTile>
__global__ void __launch_bounds__(kTile* kTile)
    tiled(const float* a, const float* b, float* c, shape size) {
  __shared__ float tile_a[kTile][kTile];  // [row of C][i]
  __shared__ float tile_b[kTile][kTile];  // [i][column of C]

  // TODO(1): this thread's element of C is the sum over i of A[row][i] * B[i][column]. Take the i
  //          in slices of kTile. For each slice the block's threads load one tile of A and one of
  //          B into shared memory, each thread one element of each; then each thread adds the
  //          slice's kTile products to its sum.
  //          Invariants: no thread reads a tile that is not complete, and none overwrites a tile
  //          that another thread still reads. Every thread reaches every barrier.
  //          Where a tile extends beyond its matrix it has zeros, which add nothing to a sum.
  // BEGIN SOLUTION
  const unsigned x = threadIdx.x, y = threadIdx.y;
  const std::size_t row = std::size_t{blockIdx.y} * kTile + y;
  const std::size_t column = std::size_t{blockIdx.x} * kTile + x;
  const bool row_inside = row < size.m, column_inside = column < size.n;

  float sum = 0;
  for (std::size_t first = 0; first < size.k; first += kTile) {
    // Neighbours in x load neighbours in memory, from A and from B.
    tile_a[y][x] = row_inside && first + x < size.k ? a[row * size.k + first + x] : 0;
    tile_b[y][x] = first + y < size.k && column_inside ? b[(first + y) * size.n + column] : 0;
    __syncthreads();  // both tiles are complete
    for (unsigned i = 0; i < kTile; ++i) sum += tile_a[y][i] * tile_b[i][x];
    __syncthreads();  // all threads have read them: the next tiles may be loaded
  }
  if (row_inside && column_inside) c[row * size.n + column] = sum;
  // END SOLUTION
}

template <unsigned kTile>
void launch_tiled(const float* a, const float* b, float* c, shape size) {
  // TODO(2): launch tiled<kTile> with a block of kTile x kTile threads for each kTile x kTile
  //          elements of C: grid_for() counts the blocks.
  // BEGIN SOLUTION
  // STUB: throw not_written("step tile_16 (or tile_32)", 1);  // 1 and 2 are these steps
  const dim3 block(kTile, kTile);
  tiled<kTile><<<grid_for(size, kTile, kTile), block>>>(a, b, c, size);
  // END SOLUTION
}

// --- coarse_1d, coarse_2d: each thread computes TM x TN elements, in registers -------------------
// In `tiled` every multiply-add waits for two reads of shared memory. Here a thread uses a number
// that it has read for TM elements, or for TN. A block computes BM x BN elements of C, in slices of
// BK along k, with one thread for each TM x TN of them.

template <unsigned BM, unsigned BN, unsigned BK, unsigned TM, unsigned TN>
__global__ void __launch_bounds__(BM* BN / (TM * TN))
    coarsened(const float* a, const float* b, float* c, shape size) {
  constexpr unsigned kThreads = BM * BN / (TM * TN);
  __shared__ float tile_a[BM][BK];  // [row of C][i]
  __shared__ float tile_b[BK][BN];  // [i][column of C]
  const std::size_t block_row = std::size_t{blockIdx.y} * BM;
  const std::size_t block_column = std::size_t{blockIdx.x} * BN;
  // The first of this thread's elements, relative to the block's.
  const unsigned row = threadIdx.x / (BN / TN) * TM, column = threadIdx.x % (BN / TN) * TN;
  float sum[TM][TN] = {};

  // TODO(3): the loop of `tiled`, with the same two barriers. A tile has at least as many
  //          elements as the block has threads: thread e loads elements e, e + kThreads, … with
  //          element_or_zero(). Then for each i of the slice: read this thread's TN numbers of B
  //          once, and each of its TM numbers of A once, and add all TM x TN products to the sums.
  //          All loops have constant bounds and are unrolled: an array that is indexed by constants
  //          only can live in registers.
  // BEGIN SOLUTION
  for (std::size_t first = 0; first < size.k; first += BK) {
#pragma unroll
    for (unsigned from = 0; from < BM * BK; from += kThreads) {
      const unsigned y = (from + threadIdx.x) / BK, x = (from + threadIdx.x) % BK;
      tile_a[y][x] = element_or_zero(a, size.m, size.k, block_row + y, first + x);
    }
#pragma unroll
    for (unsigned from = 0; from < BK * BN; from += kThreads) {
      const unsigned y = (from + threadIdx.x) / BN, x = (from + threadIdx.x) % BN;
      tile_b[y][x] = element_or_zero(b, size.k, size.n, first + y, block_column + x);
    }
    __syncthreads();  // these tiles are complete
#pragma unroll
    for (unsigned i = 0; i < BK; ++i) {
      float of_b[TN];
#pragma unroll
      for (unsigned s = 0; s < TN; ++s) of_b[s] = tile_b[i][column + s];
#pragma unroll
      for (unsigned r = 0; r < TM; ++r) {
        const float of_a = tile_a[row + r][i];
#pragma unroll
        for (unsigned s = 0; s < TN; ++s) sum[r][s] += of_a * of_b[s];
      }
    }
    __syncthreads();  // all threads have read these tiles
  }
  // END SOLUTION

  // TODO(4): store the sums, where C has such elements.
  // BEGIN SOLUTION
#pragma unroll
  for (unsigned r = 0; r < TM; ++r) {
    const std::size_t to_row = block_row + row + r;
#pragma unroll
    for (unsigned s = 0; s < TN; ++s) {
      const std::size_t to_column = block_column + column + s;
      if (to_row < size.m && to_column < size.n) c[to_row * size.n + to_column] = sum[r][s];
    }
  }
  // END SOLUTION
}

template <unsigned BM, unsigned BN, unsigned BK, unsigned TM, unsigned TN>
void launch_coarsened(const float* a, const float* b, float* c, shape size) {
  // TODO(5): launch it. The block's threads are all in x.
  // BEGIN SOLUTION
  // STUB: throw not_written("step coarse_1d (or coarse_2d)", 3);  // 3 to 5 are these steps
  coarsened<BM, BN, BK, TM, TN><<<grid_for(size, BM, BN), BM * BN / (TM * TN)>>>(a, b, c, size);
  // END SOLUTION
}

// --- vectorized: 16 bytes at a time, from global and from shared memory --------------------------
// given.hpp has the sizes of `tiling`, and shows which thread computes which elements of C.

/// Four neighbours in a row of a matrix in global memory, zero where it has no such element.
/// `column` is a multiple of 4. kAligned requires that `columns` is a multiple of 4: then every
/// row begins on a 16-byte boundary, and either all four neighbours exist or none of them.
template <bool kAligned>
__device__ float4 load_four(const float* matrix, std::size_t rows, std::size_t columns,
                            std::size_t row, std::size_t column) {
  float4 four = make_float4(0, 0, 0, 0);
  // TODO(6, bonus): load them: if kAligned with one float4 load, else one by one, each with its
  //          own guard.
  // BEGIN SOLUTION
  if (row < rows && column < columns) {
    const float* from = matrix + row * columns + column;
    if constexpr (kAligned) {
      four = *reinterpret_cast<const float4*>(from);
    } else {
      four.x = from[0];
      if (column + 1 < columns) four.y = from[1];
      if (column + 2 < columns) four.z = from[2];
      if (column + 3 < columns) four.w = from[3];
    }
  }
  // END SOLUTION
  return four;
}

/// The elements that a thread moves from global to shared memory: its part of a slice of A and of
/// B. Thread e has group e of four elements of a slice, group e + kThreads, …, row by row.
template <class Tiling>
struct staged {
  float4 a[Tiling::kFoursOfA], b[Tiling::kFoursOfB];
};

/// Loads this thread's part of the slice that begins at `first`.
template <class Tiling, bool kAligned>
__device__ staged<Tiling> load(const float* a, const float* b, shape size, std::size_t first) {
  staged<Tiling> mine;
#pragma unroll
  for (unsigned j = 0; j < Tiling::kFoursOfA; ++j) {
    const coordinates from = coordinates_of_four(j, Tiling::kThreads, Tiling::BK);
    mine.a[j] = load_four<kAligned>(
        a, size.m, size.k, std::size_t{blockIdx.y} * Tiling::BM + from.row, first + from.column);
  }
#pragma unroll
  for (unsigned j = 0; j < Tiling::kFoursOfB; ++j) {
    const coordinates from = coordinates_of_four(j, Tiling::kThreads, Tiling::BN);
    mine.b[j] = load_four<kAligned>(b, size.k, size.n, first + from.row,
                                    std::size_t{blockIdx.x} * Tiling::BN + from.column);
  }
  return mine;
}

/// Stores that part in shared memory.
template <class Tiling>
__device__ void put(const staged<Tiling>& mine, slice<Tiling>& to) {
  // TODO(7, bonus): load() shows where each group of four comes from. Those of B stay neighbours.
  //          Those of A run along i, and `to.a` is transposed: they go into four rows of it.
  // BEGIN SOLUTION
#pragma unroll
  for (unsigned j = 0; j < Tiling::kFoursOfA; ++j) {
    const auto [row, i] = coordinates_of_four(j, Tiling::kThreads, Tiling::BK);
    to.a[i + 0][row] = mine.a[j].x;
    to.a[i + 1][row] = mine.a[j].y;
    to.a[i + 2][row] = mine.a[j].z;
    to.a[i + 3][row] = mine.a[j].w;
  }
#pragma unroll
  for (unsigned j = 0; j < Tiling::kFoursOfB; ++j) {
    const auto [i, column] = coordinates_of_four(j, Tiling::kThreads, Tiling::BN);
    *reinterpret_cast<float4*>(&to.b[i][column]) = mine.b[j];
  }
  // END SOLUTION
}

/// Adds the products of a slice to this thread's sums.
template <class Tiling>
__device__ void multiply_slice(const slice<Tiling>& from, coordinates mine,
                               float (&sum)[Tiling::TM][Tiling::TN]) {
  // TODO(8, bonus): as in `coarsened`, but four numbers at a time, with read_four(): four rows of A
  //          at mine.row, the next four kPieceRows further, …, and columns of B in the same way.
  // BEGIN SOLUTION
#pragma unroll
  for (unsigned i = 0; i < Tiling::BK; ++i) {
    float of_a[Tiling::TM], of_b[Tiling::TN];
#pragma unroll
    for (unsigned r = 0; r < Tiling::TM; r += 4)
      read_four(&from.a[i][mine.row + r / 4 * kPieceRows], of_a + r);
#pragma unroll
    for (unsigned s = 0; s < Tiling::TN; s += 4)
      read_four(&from.b[i][mine.column + s / 4 * kPieceColumns], of_b + s);
      // In a serpentine order: where one row of products ends, the next one begins, with the same
      // number of B, which need not be fetched from the registers again.
#pragma unroll
    for (unsigned r = 0; r < Tiling::TM; ++r) {
#pragma unroll
      for (unsigned j = 0; j < Tiling::TN; ++j) {
        const unsigned s = r % 2 == 0 ? j : Tiling::TN - 1 - j;
        sum[r][s] += of_a[r] * of_b[s];
      }
    }
  }
  // END SOLUTION
}

template <class Tiling, bool kAligned>
__global__ void __launch_bounds__(Tiling::kThreads)
    vectorized(const float* a, const float* b, float* c, shape size) {
  __shared__ slice<Tiling> tiles;
  float sum[Tiling::TM][Tiling::TN] = {};
  const coordinates mine = coordinates_of_thread<Tiling>();
  for (std::size_t first = 0; first < size.k; first += Tiling::BK) {
    put(load<Tiling, kAligned>(a, b, size, first), tiles);
    __syncthreads();
    multiply_slice(tiles, mine, sum);
    __syncthreads();
  }
  store<Tiling, kAligned>(sum, mine, c, size);
}

/// Whether the rows of A, B and C all begin on 16-byte boundaries. (cudaMalloc aligns to 256.)
bool rows_are_aligned(shape size) {
  // TODO(9, bonus): when do they?
  // BEGIN SOLUTION
  // STUB: throw not_written("step vectorized", 6);  // 6 to 9 are this step
  return size.n % 4 == 0 && size.k % 4 == 0;
  // END SOLUTION
}

// --- double_buffered: the next slice is loaded while this one is multiplied ----------------------

// Limits the registers per thread so that kResident blocks fit on a multiprocessor: while one
// waits at its barrier, another multiplies.
template <class Tiling, bool kAligned>
__global__ void __launch_bounds__(Tiling::kThreads, Tiling::kResident)
    double_buffered(const float* a, const float* b, float* c, shape size) {
  __shared__ slice<Tiling> slices[2];  // one is multiplied while the other is filled
  float sum[Tiling::TM][Tiling::TN] = {};
  const coordinates mine = coordinates_of_thread<Tiling>();

  // TODO(10, bonus): for each slice: start loading the *next* one into registers, then
  //          multiply_slice() this one, and only then put() the next: by that time it has arrived.
  //          With two slices in turn, one barrier is enough. (Which of the two barriers of
  //          `vectorized` is it?) A slice past the end of k loads as zeros: it needs no `if`.
  // BEGIN SOLUTION
  put(load<Tiling, kAligned>(a, b, size, 0), slices[0]);
  __syncthreads();  // the first slice is complete

  unsigned current = 0;
  for (std::size_t first = 0; first < size.k; first += Tiling::BK) {
    const auto next = load<Tiling, kAligned>(a, b, size, first + Tiling::BK);
    multiply_slice(slices[current], mine, sum);
    put(next, slices[current ^ 1U]);  // which no thread has read since the last barrier
    __syncthreads();  // the next slice is complete, and no thread still reads the current one
    current ^= 1U;
  }
  // END SOLUTION
  store<Tiling, kAligned>(sum, mine, c, size);
}

template <class Tiling>
void launch_double_buffered(const float* a, const float* b, float* c, shape size) {
  // TODO(11, bonus): launch double_buffered<Tiling, true>, or <Tiling, false> if rows are not
  //          aligned. (How `vectorized` is launched is at the end of this file.)
  // BEGIN SOLUTION
  // STUB: throw not_written("step double_buffered", 10);  // 10 and 11 are this step
  const dim3 grid = grid_for(size, Tiling::BM, Tiling::BN);
  if (rows_are_aligned(size))
    double_buffered<Tiling, true><<<grid, Tiling::kThreads>>>(a, b, c, size);
  else
    double_buffered<Tiling, false><<<grid, Tiling::kThreads>>>(a, b, c, size);
  // END SOLUTION
}

// --- by_size: different tiles for different matrices ---------------------------------------------
// 512 x 512 elements are 16 tiles of 128 x 128: a GPU with 132 multiprocessors leaves 116 idle. Of
// 1536 x 1536 it has 144, so twelve multiprocessors work twice as long as the others.

/// How long the product takes with a tiling, in arbitrary units: as long as the multiprocessor
/// with the most blocks works on them. `price` is the cost of an element in this tiling: smaller
/// tiles need more loads from shared memory for each product.
template <class Tiling>
std::size_t time_with(shape size, std::size_t price) {
  // TODO(12, bonus): blocks_of() counts the blocks, device_limit(cudaDevAttrMultiProcessorCount)
  //          the multiprocessors that share them.
  // BEGIN SOLUTION
  // STUB: throw not_written("step by_size", 12);
  const std::size_t processors = device_limit(cudaDevAttrMultiProcessorCount);
  const std::size_t most_blocks = (blocks_of<Tiling>(size) + processors - 1) / processors;
  return most_blocks * Tiling::BM * Tiling::BN * price;
  // END SOLUTION
}

// --- given ---------------------------------------------------------------------------------------

void launch_vectorized(const float* a, const float* b, float* c, shape size) {
  using tiles = tiling_8x8;
  const dim3 grid = grid_for(size, tiles::BM, tiles::BN);
  if (rows_are_aligned(size))
    vectorized<tiles, true><<<grid, tiles::kThreads>>>(a, b, c, size);
  else
    vectorized<tiles, false><<<grid, tiles::kThreads>>>(a, b, c, size);
}

void launch_by_size(const float* a, const float* b, float* c, shape size) {
  // The prices are measured (H100): an element of the large tiles takes 1, of the others 1.05, 1.5.
  const std::size_t large = time_with<large_tiling>(size, 20);
  const std::size_t medium = time_with<medium_tiling>(size, 21);
  const std::size_t small = time_with<small_tiling>(size, 30);
  if (large <= medium && large <= small)
    launch_double_buffered<large_tiling>(a, b, c, size);
  else if (medium <= small)
    launch_double_buffered<medium_tiling>(a, b, c, size);
  else
    launch_double_buffered<small_tiling>(a, b, c, size);
}

void launch(step version, const float* a, const float* b, float* c, shape size) {
  switch (version) {
    case step::tile_16:
      return launch_tiled<16>(a, b, c, size);
    case step::tile_32:
      return launch_tiled<32>(a, b, c, size);
    case step::coarse_1d:
      return launch_coarsened<64, 64, 8, 8, 1>(a, b, c, size);
    case step::coarse_2d:
      return launch_coarsened<128, 128, 8, 8, 8>(a, b, c, size);
    case step::vectorized:
      return launch_vectorized(a, b, c, size);
    case step::double_buffered:
      return launch_double_buffered<tiling_8x8>(a, b, c, size);
    case step::by_size:
      return launch_by_size(a, b, c, size);
  }
  throw invalid_input("tiled_matmul: there is no such step");
}

}  // namespace

result multiply(step version, std::span<const float> a, std::span<const float> b, shape size) {
  require_matrix("tiled_matmul: A", a.size(), size.m, size.k);
  require_matrix("tiled_matmul: B", b.size(), size.k, size.n);
  if (size.m == 0 || size.n == 0) return {};  // a grid of no blocks would be an error

  const device_buffer device_a(a);
  const device_buffer device_b(b);
  device_buffer<float> device_c(size.m * size.n);

  const float kernel_ms = time_kernel(
      [&] { launch(version, device_a.data(), device_b.data(), device_c.data(), size); });

  result out{device_c.to_vector()};  // waits until the kernel is done
  out.kernel_ms = kernel_ms;
  return out;
}

}  // namespace lab::tiled_matmul
