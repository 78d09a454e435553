// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: A transposed in tile_16 and tile_32, all loads before all stores in
// coarse_1d and coarse_2d, and no barrier after the last slice of double_buffered.

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
  __shared__ float tile_a[kTile][kTile + 1];  // [i][row of C]: transposed
  __shared__ float tile_b[kTile][kTile];      // [i][column of C]

  const unsigned tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t row = std::size_t{blockIdx.y} * kTile + ty;
  const std::size_t column = std::size_t{blockIdx.x} * kTile + tx;
  float sum = 0;
  for (std::size_t first = 0; first < size.k; first += kTile) {
    tile_a[tx][ty] = element_or_zero(a, size.m, size.k, row, first + tx);
    tile_b[ty][tx] = element_or_zero(b, size.k, size.n, first + ty, column);
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < kTile; ++i) sum += tile_a[i][ty] * tile_b[i][tx];
    __syncthreads();
  }
  if (row < size.m && column < size.n) c[row * size.n + column] = sum;
}

template <unsigned kTile>
void launch_tiled(const float* a, const float* b, float* c, shape size) {
  tiled<kTile><<<grid_for(size, kTile, kTile), dim3(kTile, kTile)>>>(a, b, c, size);
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

  for (std::size_t first = 0; first < size.k; first += BK) {
    // All loads first, then all stores.
    constexpr unsigned kOfA = BM * BK / kThreads, kOfB = BK * BN / kThreads;
    float loaded_a[kOfA], loaded_b[kOfB];
#pragma unroll
    for (unsigned j = 0; j < kOfA; ++j) {
      const unsigned e = j * kThreads + threadIdx.x;
      loaded_a[j] = element_or_zero(a, size.m, size.k, block_row + e / BK, first + e % BK);
    }
#pragma unroll
    for (unsigned j = 0; j < kOfB; ++j) {
      const unsigned e = j * kThreads + threadIdx.x;
      loaded_b[j] = element_or_zero(b, size.k, size.n, first + e / BN, block_column + e % BN);
    }
#pragma unroll
    for (unsigned j = 0; j < kOfA; ++j) (&tile_a[0][0])[j * kThreads + threadIdx.x] = loaded_a[j];
#pragma unroll
    for (unsigned j = 0; j < kOfB; ++j) (&tile_b[0][0])[j * kThreads + threadIdx.x] = loaded_b[j];
    __syncthreads();
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
    __syncthreads();
  }

#pragma unroll
  for (unsigned r = 0; r < TM; ++r)
#pragma unroll
    for (unsigned s = 0; s < TN; ++s)
      if (block_row + row + r < size.m && block_column + column + s < size.n)
        c[(block_row + row + r) * size.n + block_column + column + s] = sum[r][s];
}

template <unsigned BM, unsigned BN, unsigned BK, unsigned TM, unsigned TN>
void launch_coarsened(const float* a, const float* b, float* c, shape size) {
  coarsened<BM, BN, BK, TM, TN><<<grid_for(size, BM, BN), BM * BN / (TM * TN)>>>(a, b, c, size);
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
  if (row >= rows) return four;
  const float* const from = matrix + row * columns + column;
  if constexpr (kAligned) {
    if (column < columns) four = *reinterpret_cast<const float4*>(from);
  } else {
    float one[4] = {};
#pragma unroll
    for (unsigned j = 0; j < 4; ++j)
      if (column + j < columns) one[j] = from[j];
    four = make_float4(one[0], one[1], one[2], one[3]);
  }
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
#pragma unroll
  for (unsigned j = 0; j < Tiling::kFoursOfA; ++j) {
    const coordinates at = coordinates_of_four(j, Tiling::kThreads, Tiling::BK);
    to.a[at.column][at.row] = mine.a[j].x;
    to.a[at.column + 1][at.row] = mine.a[j].y;
    to.a[at.column + 2][at.row] = mine.a[j].z;
    to.a[at.column + 3][at.row] = mine.a[j].w;
  }
#pragma unroll
  for (unsigned j = 0; j < Tiling::kFoursOfB; ++j) {
    const coordinates at = coordinates_of_four(j, Tiling::kThreads, Tiling::BN);
    *reinterpret_cast<float4*>(&to.b[at.row][at.column]) = mine.b[j];
  }
}

/// Adds the products of a slice to this thread's sums.
template <class Tiling>
__device__ void multiply_slice(const slice<Tiling>& from, coordinates mine,
                               float (&sum)[Tiling::TM][Tiling::TN]) {
#pragma unroll
  for (unsigned i = 0; i < Tiling::BK; ++i) {
    float of_a[Tiling::TM], of_b[Tiling::TN];
#pragma unroll
    for (unsigned r = 0; r < Tiling::TM; r += 4)
      read_four(&from.a[i][mine.row + r / 4 * kPieceRows], &of_a[r]);
#pragma unroll
    for (unsigned s = 0; s < Tiling::TN; s += 4)
      read_four(&from.b[i][mine.column + s / 4 * kPieceColumns], &of_b[s]);
#pragma unroll
    for (unsigned r = 0; r < Tiling::TM; ++r)
#pragma unroll
      for (unsigned j = 0; j < Tiling::TN; ++j) {
        const unsigned s = r % 2 == 0 ? j : Tiling::TN - 1 - j;  // to and fro
        sum[r][s] += of_a[r] * of_b[s];
      }
  }
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
bool rows_are_aligned(shape size) { return size.k % 4 == 0 && size.n % 4 == 0; }

// --- double_buffered: the next slice is loaded while this one is multiplied ----------------------

// Limits the registers per thread so that kResident blocks fit on a multiprocessor: while one
// waits at its barrier, another multiplies.
template <class Tiling, bool kAligned>
__global__ void __launch_bounds__(Tiling::kThreads, Tiling::kResident)
    double_buffered(const float* a, const float* b, float* c, shape size) {
  __shared__ slice<Tiling> slices[2];  // one is multiplied while the other is filled
  float sum[Tiling::TM][Tiling::TN] = {};
  const coordinates mine = coordinates_of_thread<Tiling>();

  put(load<Tiling, kAligned>(a, b, size, 0), slices[0]);
  __syncthreads();
  slice<Tiling>* full = &slices[0];
  slice<Tiling>* empty = &slices[1];
  for (std::size_t next = Tiling::BK; next < size.k + Tiling::BK; next += Tiling::BK) {
    staged<Tiling> arriving;
    const bool more = next < size.k;
    if (more) arriving = load<Tiling, kAligned>(a, b, size, next);
    multiply_slice(*full, mine, sum);
    if (!more) break;
    put(arriving, *empty);
    slice<Tiling>* const other = full;
    full = empty;
    empty = other;
    __syncthreads();
  }
  store<Tiling, kAligned>(sum, mine, c, size);
}

template <class Tiling>
void launch_double_buffered(const float* a, const float* b, float* c, shape size) {
  const dim3 grid = grid_for(size, Tiling::BM, Tiling::BN);
  if (rows_are_aligned(size))
    double_buffered<Tiling, true><<<grid, Tiling::kThreads>>>(a, b, c, size);
  else
    double_buffered<Tiling, false><<<grid, Tiling::kThreads>>>(a, b, c, size);
}

// --- by_size: different tiles for different matrices ---------------------------------------------
// 512 x 512 elements are 16 tiles of 128 x 128: a GPU with 132 multiprocessors leaves 116 idle. Of
// 1536 x 1536 it has 144, so twelve multiprocessors work twice as long as the others.

/// How long the product takes with a tiling, in arbitrary units: as long as the multiprocessor
/// with the most blocks works on them. `price` is the cost of an element in this tiling: smaller
/// tiles need more loads from shared memory for each product.
template <class Tiling>
std::size_t time_with(shape size, std::size_t price) {
  const std::size_t processors = device_limit(cudaDevAttrMultiProcessorCount);
  std::size_t busiest = blocks_of<Tiling>(size) / processors;
  if (blocks_of<Tiling>(size) % processors != 0) ++busiest;
  return price * busiest * (Tiling::TM * Tiling::TN * Tiling::kThreads);
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
