// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 18.4 split_product: what split_product.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/refuse_if.hpp"
#include "lab/require_matrix.hpp"
#include "lab/shared_fragment.hpp"
#include "lab/time_kernel.hpp"
#include "split_product.hpp"

namespace lab::split_product {

namespace wmma = nvcuda::wmma;

constexpr unsigned kWarp = 32, kTile = 16;
constexpr unsigned kMostPieces = 3;

// What the lanes of a warp hold together: 16 x 16 elements.
using fragment_a =
    wmma::fragment<wmma::matrix_a, kTile, kTile, kTile, __nv_bfloat16, wmma::row_major>;
using fragment_b =
    wmma::fragment<wmma::matrix_b, kTile, kTile, kTile, __nv_bfloat16, wmma::row_major>;
using fragment_c = wmma::fragment<wmma::accumulator, kTile, kTile, kTile, float>;

/// A float as three bfloat16, the largest one first: their sum.
struct pieces {
  __nv_bfloat16 piece[kMostPieces];
};

// --- scaling: no piece is too large or too small -------------------------------------------------
// The pieces of small floats would be subnormal bfloat16, which have fewer digits. So each row of A
// and each column of B is multiplied by a power of 2, which changes no digit: its largest element
// gets the exponent 50. Then elements have all their digits down to 2^-160 times the largest one,
// and the sums of 2^24 products stay below 2^126.

/// The exponent field of a float that is not finite. The exponents below are such fields: 127 more
/// than the exponent.
constexpr int kNotFinite = 255;
constexpr int kScaledTo = 127 + 50;

/// The exponent field of the largest element of each row: a warp finds that of one row.
__global__ inline void exponents_of_rows(const float* x, std::size_t rows, std::size_t columns,
                                         int* exponent) {
  const std::size_t row = std::size_t{blockIdx.x} * (blockDim.x / kWarp) + threadIdx.x / kWarp;
  if (row >= rows) return;
  unsigned most = 0;  // bits of floats without their sign are in the order of the floats
  for (std::size_t i = threadIdx.x % kWarp; i < columns; i += kWarp)
    most = max(most, __float_as_uint(x[row * columns + i]) & 0x7fffffffU);
  for (unsigned other = kWarp / 2; other > 0; other /= 2)
    most = max(most, __shfl_xor_sync(0xffffffffU, most, static_cast<int>(other)));
  if (threadIdx.x % kWarp == 0) exponent[row] = static_cast<int>(most >> 23U);
}

/// The same for columns; `exponent` is 0 before. A thread looks at every gridDim.y-th element.
__global__ inline void exponents_of_columns(const float* x, std::size_t rows, std::size_t columns,
                                            int* exponent) {
  const std::size_t column = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (column >= columns) return;
  unsigned most = 0;
  for (std::size_t row = blockIdx.y; row < rows; row += gridDim.y)
    most = max(most, __float_as_uint(x[row * columns + column]) & 0x7fffffffU);
  atomicMax(&exponent[column], static_cast<int>(most >> 23U));
}

/// x times the power of 2 that scales a row or column with this exponent; 0 if it is not finite.
__device__ inline float scaled(float x, int exponent) {
  return exponent == kNotFinite ? 0.0F : ldexpf(x, kScaledTo - exponent);
}

// --- the pieces of a matrix ----------------------------------------------------------------------

/// Rounded up to whole tiles.
__host__ __device__ constexpr std::size_t padded(std::size_t n, std::size_t unit) {
  return (n + unit - 1) / unit * unit;
}
constexpr std::size_t kRowUnit = 128, kInnerUnit = 32;  // of m and n, and of k

/// Where the pieces of both matrices are: all first pieces, then all second ones, then all third
/// ones. Beyond A and B they are 0 up to whole tiles, so there are no borders.
struct split_matrices {
  const __nv_bfloat16 *a, *b;
  const int *exponent_a, *exponent_b;  // of the rows of A, and of the columns of B
  std::size_t m, n, k;                 // with what was added
};

/// The student's.
__device__ pieces split(float x);

/// Splits a matrix that is rows x columns to `to`, which is padded_rows x padded_columns for each
/// piece. A thread does four neighbours at a time.
template <bool kExponentsOfRows>
__global__ void split_matrix(const float* x, std::size_t rows, std::size_t columns,
                             const int* exponent, __nv_bfloat16* to, std::size_t padded_rows,
                             std::size_t padded_columns, unsigned count) {
  const std::size_t column = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) * 4;
  if (column >= padded_columns) return;
  for (std::size_t row = blockIdx.y; row < padded_rows; row += gridDim.y) {
    struct alignas(8) four {
      __nv_bfloat16 value[4];
    };
    four out[kMostPieces];
    for (unsigned j = 0; j < 4; ++j) {
      float value = 0;
      if (row < rows && column + j < columns)
        value =
            scaled(x[row * columns + column + j], exponent[kExponentsOfRows ? row : column + j]);
      const pieces all = split(value);
      for (unsigned p = 0; p < kMostPieces; ++p) out[p].value[j] = all.piece[p];
    }
    for (unsigned p = 0; p < kMostPieces; ++p)
      if (p < count)
        *reinterpret_cast<four*>(&to[(p * padded_rows + row) * padded_columns + column]) = out[p];
  }
}

// --- tiles ---------------------------------------------------------------------------------------

/// A block makes BM x BN elements of C in slices of BK along k, a warp WM x WN of them, from
/// kPieces pieces of each element. With 16 bytes after each row of a tile in shared memory, the
/// next row begins 20 (A) or 4 (B) banks further on: eight rows of 16 bytes, which are read
/// together, are in all 32 banks.
template <unsigned kPiecesOfEach>
struct tiling {
  static constexpr unsigned BM = 128, BN = 128, BK = 32, WM = 32, WN = 32, kPad = 8;
  static constexpr unsigned kPieces = kPiecesOfEach, kStages = 3;
  static constexpr unsigned kWarpsAcross = BN / WN, kThreads = BM / WM * kWarpsAcross * kWarp;
  static_assert(kRowUnit % BM == 0 && kRowUnit % BN == 0 && kInnerUnit % BK == 0);
};

/// What a block has of A and B at a time, in shared memory.
template <class T>
struct alignas(32) slice {
  __nv_bfloat16 a[T::kPieces][T::BM][T::BK + T::kPad];  // [piece][row of C][i]
  __nv_bfloat16 b[T::kPieces][T::BK][T::BN + T::kPad];  // [piece][i][column of C]
};

/// A row and a column of C.
struct coordinates {
  std::size_t row, column;
};

/// The first element of this block's tile of C. The grid is one row of blocks. They take C in bands
/// of eight tile rows, each from left to right, its columns of tiles from top to bottom: blocks
/// that run at the same time then need few rows of A and columns of B, which stay in the L2 cache.
template <class T>
__device__ coordinates coordinates_of_block(const split_matrices& in) {
  constexpr std::size_t kBand = 8;
  const std::size_t down = in.m / T::BM, across = in.n / T::BN;
  const std::size_t band = blockIdx.x / (kBand * across), i = blockIdx.x % (kBand * across);
  const std::size_t left = down - band * kBand, rows = left < kBand ? left : kBand;
  return {(band * kBand + i % rows) * T::BM, i / rows * T::BN};
}

/// The first element of this warp's tile, within the block's.
template <class T>
__device__ coordinates coordinates_of_warp() {
  const unsigned warp = threadIdx.x / kWarp;
  return {warp / T::kWarpsAcross * T::WM, warp % T::kWarpsAcross * T::WN};
}

/// A thread's part in copying the slices of a block to shared memory, one after the other along k.
template <class T>
class slice_copies {
  static constexpr unsigned kAtOnce = 8;  // 16 bytes
  // The block copies so many rows of a tile at once, and this thread the same columns of each.
  static constexpr unsigned kAcrossA = T::BK / kAtOnce, kRowsOfA = T::kThreads / kAcrossA;
  static constexpr unsigned kAcrossB = T::BN / kAtOnce, kRowsOfB = T::kThreads / kAcrossB;
  static_assert(T::BM % kRowsOfA == 0 && T::BK % kRowsOfB == 0, "all threads copy equally much");

 public:
  __device__ slice_copies(const split_matrices& in, coordinates block)
      : in_(in),
        a_(in.a + (block.row + ya_) * in.k + xa_),
        b_(in.b + yb_ * in.n + block.column + xb_) {}

  /// Starts to copy the next slice, as a batch of its own. Past the end of k it is an empty batch.
  __device__ void start(slice<T>& to) {
    if (first_ < in_.k) {
#pragma unroll
      for (unsigned p = 0; p < T::kPieces; ++p) {
#pragma unroll
        for (unsigned y = 0; y < T::BM; y += kRowsOfA)
          __pipeline_memcpy_async(&to.a[p][ya_ + y][xa_], a_ + (p * in_.m + y) * in_.k, 16);
#pragma unroll
        for (unsigned y = 0; y < T::BK; y += kRowsOfB)
          __pipeline_memcpy_async(&to.b[p][yb_ + y][xb_], b_ + (p * in_.k + y) * in_.n, 16);
      }
    }
    __pipeline_commit();
    first_ += T::BK;
    a_ += T::BK;
    b_ += T::BK * in_.n;
  }

 private:
  unsigned ya_ = threadIdx.x / kAcrossA, xa_ = threadIdx.x % kAcrossA * kAtOnce;
  unsigned yb_ = threadIdx.x / kAcrossB, xb_ = threadIdx.x % kAcrossB * kAtOnce;
  split_matrices in_;
  const __nv_bfloat16 *a_, *b_;  // what the thread copies first of the next slice
  std::size_t first_ = 0;
};

// --- C -------------------------------------------------------------------------------------------

/// The matrices as they were given, and C.
struct whole_matrices {
  const float *a, *b;
  float* c;
  shape size;
};

/// An element of C whose row of A or column of B is not finite: the sum of the products that are
/// not, since finite ones make no difference to it.
__device__ inline float sum_of_infinities(const whole_matrices& all, std::size_t row,
                                          std::size_t column) {
  float sum = 0;
  for (std::size_t i = 0; i < all.size.k; ++i) {
    const float a = all.a[row * all.size.k + i], b = all.b[i * all.size.n + column];
    if (!isfinite(a) || !isfinite(b)) sum += a * b;
  }
  return sum;
}

/// What a warp adds up: its tile of C, in tiles of 16 x 16.
template <class T>
struct warp_sums {
  static constexpr unsigned kDown = T::WM / kTile, kAcross = T::WN / kTile;
  fragment_c sum[kDown][kAcross];
  coordinates mine = coordinates_of_warp<T>();

  __device__ warp_sums() {
#pragma unroll
    for (unsigned r = 0; r < kDown; ++r)
#pragma unroll
      for (unsigned s = 0; s < kAcross; ++s) wmma::fill_fragment(sum[r][s], 0.0F);
  }

  /// Stores it, without the scales, where C has such elements. `free` is the block's shared memory,
  /// which holds slices that are no longer needed.
  __device__ void store(const whole_matrices& all, const split_matrices& in, coordinates block,
                        float* free) const {
    __syncthreads();  // all warps have read the last slice
    float* const patch = free + threadIdx.x / kWarp * kTile * kTile;
#pragma unroll
    for (unsigned r = 0; r < kDown; ++r)
#pragma unroll
      for (unsigned s = 0; s < kAcross; ++s) {
        wmma::store_matrix_sync(patch, sum[r][s], kTile, wmma::mem_row_major);
        __syncwarp();
        for (unsigned i = threadIdx.x % kWarp; i < kTile * kTile; i += kWarp) {
          const std::size_t row = block.row + mine.row + kTile * r + i / kTile;
          const std::size_t column = block.column + mine.column + kTile * s + i % kTile;
          if (row >= all.size.m || column >= all.size.n) continue;
          const int ea = in.exponent_a[row], eb = in.exponent_b[column];
          all.c[row * all.size.n + column] = ea == kNotFinite || eb == kNotFinite
                                                 ? sum_of_infinities(all, row, column)
                                                 : ldexpf(patch[i], ea + eb - 2 * kScaledTo);
        }
        __syncwarp();  // all lanes have read it
      }
  }
};

/// Launches `kernel`, which multiplies what is split, with the stages in dynamic shared memory.
template <class T, class Kernel>
void launch_product(Kernel kernel, const whole_matrices& all, const split_matrices& in) {
  constexpr unsigned kBytes = T::kStages * sizeof(slice<T>);
  const std::size_t blocks = in.m / T::BM * (in.n / T::BN);
  require_at_most(cudaDevAttrMaxGridDimX, blocks, "blocks in a grid");
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  kernel<<<static_cast<unsigned>(blocks), T::kThreads, kBytes>>>(all, in);
}

inline unsigned blocks_for(std::size_t n, std::size_t each, const char* units) {
  const std::size_t blocks = (n + each - 1) / each;
  require_at_most(cudaDevAttrMaxGridDimX, blocks, units);
  return static_cast<unsigned>(blocks);
}

/// The product: A and B are brought to the device and split into `count` pieces there, launch(all,
/// in) launches the kernel that multiplies them, and C is fetched.
template <class Launch>
result multiply_by(std::span<const float> a, std::span<const float> b, shape size, unsigned count,
                   const Launch& launch) {
  require_matrix("split_product: A", a.size(), size.m, size.k);
  require_matrix("split_product: B", b.size(), size.k, size.n);
  if (device_limit(cudaDevAttrComputeCapabilityMajor) < 8)
    throw not_possible("split_product: bfloat16 on tensor cores needs compute capability 8.0");
  refuse_if(size.k > kMostK, "split_product: k is ", size.k, ", and may be at most ", kMostK);
  if (size.m == 0 || size.n == 0) return {};
  if (size.k == 0) return {std::vector<float>(size.m * size.n)};  // no kernel has anything to add

  const std::size_t m = padded(size.m, kRowUnit), n = padded(size.n, kRowUnit),
                    k = padded(size.k, kInnerUnit);
  const device_buffer device_a(a), device_b(b);
  device_buffer<float> c(size.m * size.n);
  device_buffer<int> exponent_a(size.m), exponent_b(size.n);
  device_buffer<__nv_bfloat16> pieces_a(count * m * k), pieces_b(count * k * n);
  const split_matrices in{
      pieces_a.data(), pieces_b.data(), exponent_a.data(), exponent_b.data(), m, n, k};
  const whole_matrices all{device_a.data(), device_b.data(), c.data(), size};

  constexpr unsigned kThreads = 128, kMostRows = 1024;
  const unsigned row_blocks = blocks_for(size.m, kThreads / kWarp, "rows in groups of four");
  const auto some = [](std::size_t rows) {  // of blocks, among which the rows are shared
    return static_cast<unsigned>(std::min<std::size_t>(rows, kMostRows));
  };
  const float kernel_ms = time_kernel([&] {
    CUDA_CHECK(cudaMemsetAsync(exponent_b.data(), 0, exponent_b.size_bytes()));
    exponents_of_rows<<<row_blocks, kThreads>>>(all.a, size.m, size.k, exponent_a.data());
    exponents_of_columns<<<dim3(blocks_for(size.n, kThreads, "groups of columns"),
                                some((size.k + 63) / 64)),
                           kThreads>>>(all.b, size.k, size.n, exponent_b.data());
    split_matrix<true>
        <<<dim3(blocks_for(k, 4 * kThreads, "groups of columns"), some(m)), kThreads>>>(
            all.a, size.m, size.k, exponent_a.data(), pieces_a.data(), m, k, count);
    split_matrix<false>
        <<<dim3(blocks_for(n, 4 * kThreads, "groups of columns"), some(k)), kThreads>>>(
            all.b, size.k, size.n, exponent_b.data(), pieces_b.data(), k, n, count);
    CUDA_CHECK(cudaGetLastError());
    launch(all, in);
  });
  return {c.to_vector(), kernel_ms};
}

/// The student's.
template <class T, unsigned kProducts>
__device__ void add_slice(const slice<T>& from, warp_sums<T>& to);

/// The loop of 18.3's step staged: the next slices are copied while one is multiplied.
template <class T, unsigned kProducts>
__global__ void __launch_bounds__(T::kThreads)
    multiply_pieces(whole_matrices all, split_matrices in) {
  extern __shared__ __align__(32) unsigned char memory[];
  auto* const stage = reinterpret_cast<slice<T>*>(memory);  // T::kStages of them
  const coordinates block = coordinates_of_block<T>(in);
  slice_copies<T> copies(in, block);
  warp_sums<T> sums;
  for (unsigned s = 0; s + 1 < T::kStages; ++s) copies.start(stage[s]);
  unsigned now = 0, free = T::kStages - 1;
  for (std::size_t first = 0; first < in.k; first += T::BK) {
    __pipeline_wait_prior(T::kStages - 2);  // this thread's copies into stage[now] have arrived
    __syncthreads();  // all copies have arrived, and all threads are done with stage[free]
    copies.start(stage[free]);
    add_slice<T, kProducts>(stage[now], sums);
    free = now;
    now = now + 1 < T::kStages ? now + 1 : 0;
  }
  sums.store(all, in, block, reinterpret_cast<float*>(memory));
}

template <unsigned kPieces, unsigned kProducts>
result multiply_with(std::span<const float> a, std::span<const float> b, shape size) {
  using T = tiling<kPieces>;
  return multiply_by(a, b, size, kPieces, [](const whole_matrices& all, const split_matrices& in) {
    launch_product<T>(multiply_pieces<T, kProducts>, all, in);
  });
}

}  // namespace lab::split_product
