// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: slices from the last to the first, in four sums; double_buffered has
// its barrier at the beginning of a slice, and the last slice after the loop.

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

  // The slices from the last to the first, products in four sums.
  const unsigned tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t row = std::size_t{blockIdx.y} * kTile + ty;
  const std::size_t column = std::size_t{blockIdx.x} * kTile + tx;
  float sums[4] = {};
  for (std::size_t slice = (size.k + kTile - 1) / kTile; slice-- > 0;) {
    const std::size_t first = slice * kTile;
    tile_b[ty][tx] = element_or_zero(b, size.k, size.n, first + ty, column);
    tile_a[ty][tx] = element_or_zero(a, size.m, size.k, row, first + tx);
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < kTile; i += 4)
#pragma unroll
      for (unsigned j = 0; j < 4; ++j)
        sums[j] = fmaf(tile_a[ty][i + j], tile_b[i + j][tx], sums[j]);
    if (slice != 0) __syncthreads();  // nothing is stored any more after the last
  }
  if (row >= size.m || column >= size.n) return;
  c[row * size.n + column] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
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
#pragma unroll
    for (unsigned e = threadIdx.x; e < BM * BK; e += kThreads)
      tile_a[e / BK][e % BK] =
          element_or_zero(a, size.m, size.k, block_row + e / BK, first + e % BK);
#pragma unroll
    for (unsigned e = threadIdx.x; e < BK * BN; e += kThreads)
      tile_b[e / BN][e % BN] =
          element_or_zero(b, size.k, size.n, first + e / BN, block_column + e % BN);
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < BK; ++i) {
      float of_a[TM], of_b[TN];
#pragma unroll
      for (unsigned r = 0; r < TM; ++r) of_a[r] = tile_a[row + r][i];
#pragma unroll
      for (unsigned s = 0; s < TN; ++s) of_b[s] = tile_b[i][column + s];
#pragma unroll
      for (unsigned s = 0; s < TN; ++s)
#pragma unroll
        for (unsigned r = 0; r < TM; ++r) sum[r][s] = fmaf(of_a[r], of_b[s], sum[r][s]);
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
    if (column < columns) four = __ldg(reinterpret_cast<const float4*>(from));
  } else {
    if (column < columns) four.x = from[0];
    if (column + 1 < columns) four.y = from[1];
    if (column + 2 < columns) four.z = from[2];
    if (column + 3 < columns) four.w = from[3];
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
      for (unsigned s = 0; s < Tiling::TN; ++s) sum[r][s] += of_a[r] * of_b[s];
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

  // The last slice has no next one.
  const std::size_t count = (size.k + Tiling::BK - 1) / Tiling::BK;
  if (count != 0) put(load<Tiling, kAligned>(a, b, size, 0), slices[0]);
  for (std::size_t i = 1; i < count; ++i) {
    __syncthreads();
    const staged<Tiling> next = load<Tiling, kAligned>(a, b, size, i * Tiling::BK);
    multiply_slice(slices[(i - 1) % 2], mine, sum);
    put(next, slices[i % 2]);
  }
  if (count != 0) {
    __syncthreads();
    multiply_slice(slices[(count - 1) % 2], mine, sum);
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
  const std::size_t most = (blocks_of<Tiling>(size) + processors - 1) / processors;
  return most * Tiling::BM * Tiling::BN * price;
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
