// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Two stages with two barriers, and operations of 16 x 8 x 8 that compute C, not C transposed.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::fp64_product {
// --- cuda_cores: each thread does one multiply-add per product -----------------------------------

template <class T>
__device__ void core_sums<T>::add(const slice<T>& from) {
  for (unsigned i = 0; i < T::BK; ++i) {
    double of_a[kRows], of_b[kColumns];
#pragma unroll
    for (unsigned r = 0; r < kRows; ++r) of_a[r] = from.a[y + r * kDown][i];
#pragma unroll
    for (unsigned s = 0; s < kColumns; ++s) of_b[s] = from.b[i][x + s * kAcross];
#pragma unroll
    for (unsigned r = 0; r < kRows; ++r)
#pragma unroll
      for (unsigned s = 0; s < kColumns; ++s) sum[r][s] = fma(of_a[r], of_b[s], sum[r][s]);
  }
}

// --- wmma: a warp multiplies 8 x 4 by 4 x 8 elements ---------------------------------------------

template <class T>
__device__ void wmma_sums<T>::add(const slice<T>& from) {
#pragma unroll
  for (unsigned i = 0; i < T::BK; i += 4) {
    wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> of_a[kDown];
    wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::row_major> of_b[kAcross];
#pragma unroll
    for (unsigned r = 0; r < kDown; ++r)
      from_shared::load_matrix_sync(of_a[r], &from.a[mine.row + 8 * r][i], T::BK + T::PadA);
#pragma unroll
    for (unsigned s = 0; s < kAcross; ++s)
      from_shared::load_matrix_sync(of_b[s], &from.b[i][mine.column + 8 * s], T::BN + T::PadB);
#pragma unroll
    for (unsigned r = 0; r < kDown; ++r)
#pragma unroll
      for (unsigned s = 0; s < kAcross; ++s) wmma::mma_sync(sum[r][s], of_a[r], of_b[s], sum[r][s]);
  }
}

// --- staged: the next slices are copied while one is multiplied ----------------------------------

namespace {

template <class Sums, bool kAligned>
__global__ void __launch_bounds__(Sums::tiles::kThreads) staged(factors in, double* c) {
  using T = typename Sums::tiles;
  extern __shared__ __align__(32) unsigned char memory[];
  auto* const stage = reinterpret_cast<slice<T>*>(memory);  // kStages of them
  const coordinates block = coordinates_of_block<T>(in.size);
  slice_copies<T, kAligned> copies(in, block);
  Sums sums;
  copies.start(stage[0]);
  unsigned now = 0;
  for (std::size_t first = 0; first < in.size.k; first += T::BK) {
    copies.start(stage[now ^ 1U]);
    __pipeline_wait_prior(1);
    __syncthreads();
    sums.add(stage[now]);
    __syncthreads();
    now ^= 1U;
  }
  sums.store(c, in.size, block, &stage[0].a[0][0]);
}

template <class Sums, bool kAligned>
void launch_staged(const factors& in, double* c) {
  using T = typename Sums::tiles;
  constexpr unsigned kBytes = 2 * sizeof(slice<T>);
  CUDA_CHECK(cudaFuncSetAttribute(staged<Sums, kAligned>,  // more than 48 KiB must be requested
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  staged<Sums, kAligned><<<blocks_for<T>(in.size), T::kThreads, kBytes>>>(in, c);
}

}  // namespace

// --- large_mma: a warp multiplies 16 x 8 by 8 x 8 elements ---------------------------------------

/// The operation as PTX defines it: its A is this A, and its C is 16 rows and 8 columns of this C.
template <class T>
struct rows_of_mma {
  using tiles = T;
  static constexpr unsigned kDown = T::WM / 16, kAcross = T::WN / 8;
  double sum[kDown][kAcross][4] = {};
  coordinates mine = coordinates_of_warp<T>();
  unsigned g = threadIdx.x % kWarp / 4, t = threadIdx.x % 4;

  struct numbers {
    double of_a[kDown][4], of_b[kAcross][2];
  };
  __device__ numbers at(const slice<T>& from, unsigned i) const {
    numbers n;
    for (unsigned s = 0; s < kAcross; ++s)
      for (unsigned h = 0; h < 2; ++h)
        n.of_b[s][h] = from.b[i + t + 4 * h][mine.column + 8 * s + g];
    for (unsigned r = 0; r < kDown; ++r)
      for (unsigned e = 0; e < 4; ++e)
        n.of_a[r][e] = from.a[mine.row + 16 * r + g + e % 2 * 8][i + t + e / 2 * 4];
    return n;
  }
  __device__ void multiply(const numbers& n) {
    for (unsigned r = 0; r < kDown; ++r)
      for (unsigned s = 0; s < kAcross; ++s) multiply_add_16x8x8(sum[r][s], n.of_a[r], n.of_b[s]);
  }
  __device__ void add(const slice<T>& from) {
    for (unsigned i = 0; i < T::BK; i += 8) multiply(at(from, i));
  }
  /// Within a slice, the next values are read while the current ones are multiplied.
  __device__ void add_ahead(const slice<T>& from) {
    numbers now = at(from, 0);
    for (unsigned i = 8; i < T::BK; i += 8) {
      const numbers next = at(from, i);
      multiply(now);
      now = next;
    }
    multiply(now);
  }
  __device__ void store(double* c, shape size, coordinates block, double* /* free */) const {
    for (unsigned r = 0; r < kDown; ++r)
      for (unsigned s = 0; s < kAcross; ++s)
        for (unsigned h = 0; h < 2; ++h)
          store_two(sum[r][s][2 * h], sum[r][s][2 * h + 1], c, size,
                    block.row + mine.row + 16 * r + g + 8 * h,
                    block.column + mine.column + 8 * s + 2 * t);
  }
};

/// The same sums, with another add().
template <class T>
struct rows_ahead : rows_of_mma<T> {
  __device__ void add(const slice<T>& from) { this->add_ahead(from); }
};

namespace {

template <bool kAligned>
void launch(step version, const factors& in, double* c) {
  switch (version) {
    case step::cuda_cores:
      return launch_one_stage<core_sums<small_tiling>, kAligned>(in, c);
    case step::wmma:
      return launch_one_stage<wmma_sums<small_tiling>, kAligned>(in, c);
    case step::staged:
      return launch_staged<wmma_sums<staged_tiling>, kAligned>(in, c);
    case step::large_mma:
      return launch_staged<rows_of_mma<tiling<64, 64, 32, 16, 4, 4>>, kAligned>(in, c);
    case step::prefetched:
      return launch_staged<rows_ahead<tiling<64, 64, 32, 32, 4, 4>>, kAligned>(in, c);
  }
  throw invalid_input("fp64_product: there is no such step");
}

}  // namespace

result multiply(step version, std::span<const double> a, std::span<const double> b, shape size) {
  return multiply_by(a, b, size, [&](auto aligned, const factors& in, double* c) {
    launch<decltype(aligned)::value>(version, in, c);
  });
}

}  // namespace lab::fp64_product
