// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 18.3 fp64_product: what fp64_product.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <cstddef>
#include <span>
#include <type_traits>

#include "fp64_product.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/require_matrix.hpp"
#include "lab/shared_fragment.hpp"
#include "lab/time_kernel.hpp"

namespace lab::fp64_product {

namespace wmma = nvcuda::wmma;

constexpr unsigned kWarp = 32;

/// Both matrices on the device, and their sizes.
struct factors {
  const double *a, *b;
  shape size;
};

/// A block makes BM x BN elements of C in slices of BK along k, a warp WM x WN of them. After each
/// row of a tile in shared memory there are PadA or PadB elements that nothing uses: they move the
/// next row to other banks.
template <unsigned kBM, unsigned kBN, unsigned kWM, unsigned kWN, unsigned kPadA, unsigned kPadB>
struct tiling {
  static constexpr unsigned BM = kBM, BN = kBN, BK = 16, WM = kWM, WN = kWN;
  static constexpr unsigned PadA = kPadA, PadB = kPadB;
  static constexpr unsigned kWarpsAcross = BN / WN;  // warps next to each other
  static constexpr unsigned kThreads = BM / WM * kWarpsAcross * kWarp;
  static_assert(BM % WM == 0 && BN % WN == 0, "a block is made of whole warps");
};

/// What a block has of A and B at a time, in shared memory.
template <class T>
struct alignas(32) slice {
  double a[T::BM][T::BK + T::PadA];  // [row of C][i]
  double b[T::BK][T::BN + T::PadB];  // [i][column of C]
};

/// The size of each step's tiles. Why these pads: a warp reads 8 bytes per lane in two halves of 16
/// lanes, and 16 bytes per lane in four quarters of 8 lanes. What is read together is in 32
/// different banks, which are 128 bytes, if
/// - wmma: four rows of A, 32 bytes each, begin 32 bytes apart, modulo 128: 8 * (16 + 4) is 32
///   more than 128. The same for four rows of B.
/// - large_mma and prefetched: two rows of A, 64 bytes each, begin 64 bytes apart: 8 * (16 + 8).
///   Of B, the rows 0, 2, 4 and 6, 32 bytes each: a row is 16 bytes longer than a multiple of 128.
using small_tiling = tiling<64, 64, 32, 16, 4, 4>;    // cuda_cores and wmma
using staged_tiling = tiling<128, 64, 32, 32, 4, 4>;  // staged
using large_tiling = tiling<128, 64, 32, 32, 8, 2>;   // large_mma
using tall_tiling = tiling<128, 64, 64, 32, 8, 2>;    // prefetched
constexpr unsigned kStages = 3;                       // from staged on

/// A row and a column of C.
struct coordinates {
  std::size_t row, column;
};

/// The first element of this block's tile of C. The grid is one row of blocks. They take C in bands
/// of eight tile rows, each from left to right, its columns of tiles from top to bottom: blocks
/// that run at the same time then need few rows of A and columns of B, which stay in the L2 cache.
template <class T>
__device__ coordinates coordinates_of_block(shape size) {
  constexpr std::size_t kBand = 8;
  const std::size_t down = (size.m + T::BM - 1) / T::BM, across = (size.n + T::BN - 1) / T::BN;
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
/// What A and B do not have becomes 0. kAligned: each row of A and B begins at a 16-byte boundary;
/// then two elements are copied at a time. All that does not change from slice to slice is computed
/// once, and the loops have constant bounds: a warp that computes addresses does not multiply.
template <class T, bool kAligned>
class slice_copies {
  static constexpr unsigned kAtOnce = kAligned ? 2 : 1;
  // The block copies so many rows of a tile at once, and this thread the same columns of each.
  static constexpr unsigned kAcrossA = T::BK / kAtOnce, kRowsOfA = T::kThreads / kAcrossA;
  static constexpr unsigned kAcrossB = T::BN / kAtOnce, kRowsOfB = T::kThreads / kAcrossB;
  static_assert(T::kThreads % kAcrossA == 0 && T::BM % kRowsOfA == 0 &&
                    T::kThreads % kAcrossB == 0 && T::BK % kRowsOfB == 0,
                "all threads copy equally much");

 public:
  __device__ slice_copies(const factors& in, coordinates block)
      : a_(in.a + (block.row + ya_) * in.size.k + xa_),
        b_(in.b + yb_ * in.size.n + block.column + xb_),
        size_(in.size),
        rows_left_(in.size.m - block.row),  // the block has at least one
        column_there_(block.column + xb_ < in.size.n) {}

  /// Starts to copy the next slice, as a batch of its own. Past the end of k it is an empty batch.
  __device__ void start(slice<T>& to) {
    if (first_ < size_.k) {
      const std::size_t k_left = size_.k - first_;
#pragma unroll
      for (unsigned y = 0; y < T::BM; y += kRowsOfA)
        start_copy(&to.a[ya_ + y][xa_], a_ + y * size_.k, xa_ < k_left && ya_ + y < rows_left_);
#pragma unroll
      for (unsigned y = 0; y < T::BK; y += kRowsOfB)
        start_copy(&to.b[yb_ + y][xb_], b_ + y * size_.n, yb_ + y < k_left && column_there_);
    }
    __pipeline_commit();
    first_ += T::BK;
    a_ += T::BK;
    b_ += T::BK * size_.n;
  }

 private:
  /// Without `there`, 0 is stored and nothing is read.
  __device__ static void start_copy(double* to, const double* from, bool there) {
    constexpr std::size_t kBytes = kAtOnce * sizeof(double);
    __pipeline_memcpy_async(to, from, kBytes, there ? 0 : kBytes);
  }

  unsigned ya_ = threadIdx.x / kAcrossA, xa_ = threadIdx.x % kAcrossA * kAtOnce;
  unsigned yb_ = threadIdx.x / kAcrossB, xb_ = threadIdx.x % kAcrossB * kAtOnce;
  const double *a_, *b_;  // what the thread copies first of the next slice
  shape size_;
  std::size_t first_ = 0, rows_left_;
  bool column_there_;
};

/// Whether rows of A and B begin at 16-byte boundaries. (cudaMalloc gives 256.)
inline bool rows_are_aligned(shape size) { return size.n % 2 == 0 && size.k % 2 == 0; }

/// How many blocks C needs.
template <class T>
unsigned blocks_for(shape size) {
  const std::size_t blocks = (size.m + T::BM - 1) / T::BM * ((size.n + T::BN - 1) / T::BN);
  require_at_most(cudaDevAttrMaxGridDimX, blocks, "blocks in a grid");
  return static_cast<unsigned>(blocks);
}

/// A warp stores an 8 x 8 tile of its sums where C has such elements. `patch` is shared memory that
/// no other warp uses.
__device__ inline void store_tile(const wmma::fragment<wmma::accumulator, 8, 8, 4, double>& sums,
                                  double* c, shape size, coordinates to, double* patch) {
  wmma::store_matrix_sync(patch, sums, 8, wmma::mem_row_major);
  __syncwarp();
  for (unsigned i = threadIdx.x % kWarp; i < 64; i += kWarp) {
    const std::size_t row = to.row + i / 8, column = to.column + i % 8;
    if (row < size.m && column < size.n) c[row * size.n + column] = patch[i];
  }
  __syncwarp();  // all lanes have read it
}

/// A lane stores two neighbours of a row where C has such elements. `column` is even.
__device__ inline void store_two(double first, double second, double* c, shape size,
                                 std::size_t row, std::size_t column) {
  if (row >= size.m || column >= size.n) return;
  double* const to = c + row * size.n + column;
  if (size.n % 2 == 0) {  // then each row begins at a 16-byte boundary
    *reinterpret_cast<double2*>(to) = make_double2(first, second);
  } else {
    to[0] = first;
    if (column + 1 < size.n) to[1] = second;
  }
}

// --- what a tensor core of compute capability 9.0 does at once -----------------------------------
// The warp multiplies A (16 x 8) by B (8 x 8) and adds the product to C (16 x 8). Which lane has
// which element: with g = lane / 4 and t = lane % 4,
//
//     a[0] = A[g][t]       a[1] = A[g + 8][t]       a[2] = A[g][t + 4]       a[3] = A[g + 8][t + 4]
//     b[0] = B[t][g]       b[1] = B[t + 4][g]
//     c[0] = C[g][2 t]     c[1] = C[g][2 t + 1]     c[2] = C[g + 8][2 t]     c[3] = C[g + 8][2 t +
//     1]

/// Adds A · B to C. All 32 lanes of the warp call it together.
__device__ inline void multiply_add_16x8x8(double (&c)[4], const double (&a)[4],
                                           const double (&b)[2]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
  // Elsewhere the lanes ask each other for their elements.
  constexpr unsigned kAll = 0xffffffffU;
  const int lane = static_cast<int>(threadIdx.x % kWarp), g = lane / 4, t = lane % 4;
  for (int i = 0; i < 8; ++i) {
    const int half = i / 4;
    const double upper = __shfl_sync(kAll, a[2 * half], 4 * g + i % 4);
    const double lower = __shfl_sync(kAll, a[2 * half + 1], 4 * g + i % 4);
    for (int e = 0; e < 2; ++e) {
      const double of_b = __shfl_sync(kAll, b[half], 4 * (2 * t + e) + i % 4);
      c[e] = fma(upper, of_b, c[e]);
      c[2 + e] = fma(lower, of_b, c[2 + e]);
    }
  }
#endif
}

// --- the sums of each step -----------------------------------------------------------------------
// add() adds the products of a slice, store() stores what C has. `free` is the block's shared
// memory, which holds slices that are no longer needed.

/// cuda_cores: what a thread adds up. sum[r][s] belongs to row y + r * kDown and column
/// x + s * kAcross of the block's tile.
template <class T>
struct core_sums {
  using tiles = T;
  static constexpr unsigned kAcross = 16, kDown = T::kThreads / kAcross;  // threads, in C
  static constexpr unsigned kRows = T::BM / kDown, kColumns = T::BN / kAcross;
  double sum[kRows][kColumns] = {};
  unsigned y = threadIdx.x / kAcross, x = threadIdx.x % kAcross;

  __device__ void add(const slice<T>& from);
  __device__ void store(double* c, shape size, coordinates block, double* /* free */) const {
    for (unsigned r = 0; r < kRows; ++r)
      for (unsigned s = 0; s < kColumns; ++s) {
        const std::size_t row = block.row + y + r * kDown;
        const std::size_t column = block.column + x + s * kAcross;
        if (row < size.m && column < size.n) c[row * size.n + column] = sum[r][s];
      }
  }
};

/// wmma and staged: what a warp adds up. sum[r][s] are the 8 x 8 elements of C from row
/// mine.row + 8 * r and column mine.column + 8 * s of the block's tile on.
template <class T>
struct wmma_sums {
  using tiles = T;
  static constexpr unsigned kDown = T::WM / 8, kAcross = T::WN / 8;
  wmma::fragment<wmma::accumulator, 8, 8, 4, double> sum[kDown][kAcross];
  coordinates mine = coordinates_of_warp<T>();

  __device__ wmma_sums() {
#pragma unroll
    for (unsigned r = 0; r < kDown; ++r)
#pragma unroll
      for (unsigned s = 0; s < kAcross; ++s) wmma::fill_fragment(sum[r][s], 0.0);
  }
  __device__ void add(const slice<T>& from);
  __device__ void store(double* c, shape size, coordinates block, double* free) const {
    __syncthreads();  // all warps have read the last slice
    double* const patch = free + threadIdx.x / kWarp * 64;
#pragma unroll
    for (unsigned r = 0; r < kDown; ++r)
#pragma unroll
      for (unsigned s = 0; s < kAcross; ++s)
        store_tile(sum[r][s], c, size,
                   {block.row + mine.row + 8 * r, block.column + mine.column + 8 * s}, patch);
  }
};

/// large_mma and prefetched: what a warp adds up. The operation multiplies B transposed by A
/// transposed, which makes C transposed: its A[][] are numbers of our B, its B[][] of our A.
/// sum[r][s] is the c[] of an operation: of 8 rows and 16 columns of C, from row mine.row + 8 * r
/// and column mine.column + 16 * s of the block's tile on. In which order, is for us to decide:
/// - Row g of the operation is column 2 * g of the 16, row g + 8 is column 2 * g + 1. So a[0] and
///   a[1] are neighbours in a row of B, a[2] and a[3] are, and so are c[0] and c[2], c[1] and c[3]
///   in a row of C.
/// - i, over which the products are added: any order will do that is the same for both factors. t
///   of the operation is i = 2 * t of the slice, t + 4 is i = 2 * t + 1. So b[0] and b[1] are
///   neighbours in a row of A.
template <class T>
struct mma_sums {
  using tiles = T;
  static constexpr unsigned kDown = T::WM / 8, kAcross = T::WN / 16;
  double sum[kDown][kAcross][4] = {};
  coordinates mine = coordinates_of_warp<T>();
  unsigned g = threadIdx.x % kWarp / 4, t = threadIdx.x % 4;

  /// Two neighbours in shared memory, at a 16-byte boundary.
  __device__ static double2 two_at(const double* from) {
    return *reinterpret_cast<const double2*>(from);
  }
  /// A lane's numbers of A and B for the warp's tile and eight i.
  struct numbers {
    double of_a[kDown][2], of_b[kAcross][4];
  };
  __device__ void read(const slice<T>& from, unsigned i, numbers& to) const;
  __device__ void multiply(const numbers& from);
  __device__ void add(const slice<T>& from) {
    numbers now;
#pragma unroll
    for (unsigned i = 0; i < T::BK; i += 8) {
      read(from, i, now);
      multiply(now);
    }
  }
  __device__ void store(double* c, shape size, coordinates block, double* /* free */) const;
};

template <class Sums, bool kAligned>
__global__ void __launch_bounds__(Sums::tiles::kThreads) one_stage(factors in, double* c) {
  __shared__ slice<typename Sums::tiles> now;
  const coordinates block = coordinates_of_block<typename Sums::tiles>(in.size);
  slice_copies<typename Sums::tiles, kAligned> copies(in, block);
  Sums sums;
  for (std::size_t first = 0; first < in.size.k; first += Sums::tiles::BK) {
    copies.start(now);
    __pipeline_wait_prior(0);  // this thread's copies have arrived
    __syncthreads();           // all threads' copies have arrived
    sums.add(now);
    __syncthreads();  // all threads have read the slice
  }
  sums.store(c, in.size, block, &now.a[0][0]);
}

template <class Sums, bool kAligned>
void launch_one_stage(const factors& in, double* c) {
  using T = typename Sums::tiles;
  one_stage<Sums, kAligned><<<blocks_for<T>(in.size), T::kThreads>>>(in, c);
}

/// The product, with A and B brought to the device and C fetched. launch(aligned, in, c) launches
/// the kernel; the type of `aligned` is std::true_type or std::false_type.
template <class Launch>
result multiply_by(std::span<const double> a, std::span<const double> b, shape size,
                   const Launch& launch) {
  require_matrix("fp64_product: A", a.size(), size.m, size.k);
  require_matrix("fp64_product: B", b.size(), size.k, size.n);
  if (device_limit(cudaDevAttrComputeCapabilityMajor) < 8)
    throw not_possible("fp64_product: doubles on tensor cores need compute capability 8.0");
  if (size.m == 0 || size.n == 0) return {};  // a grid of no blocks would be an error
  const device_buffer device_a(a), device_b(b);
  device_buffer<double> c(size.m * size.n);
  const factors in{device_a.data(), device_b.data(), size};
  const float kernel_ms = time_kernel([&] {
    if (rows_are_aligned(size))
      launch(std::true_type{}, in, c.data());
    else
      launch(std::false_type{}, in, c.data());
  });
  return {c.to_vector(), kernel_ms};
}

}  // namespace lab::fp64_product
