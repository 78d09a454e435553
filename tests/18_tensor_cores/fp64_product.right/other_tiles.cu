// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Neighbouring elements for a thread of cuda_cores; stages in wmma, too, of slices of eight, whose
// rows are read without conflicts, though not stored without any; other tiles and padding; and
// values read ahead that are copied from one variable to the other.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::fp64_product {
// --- cuda_cores: each thread does one multiply-add per product -----------------------------------

/// A thread computes neighbouring elements: kRows x kColumns of them.
template <class T>
struct neighbour_sums {
  using tiles = T;
  static constexpr unsigned kAcross = 16, kDown = T::kThreads / kAcross;
  static constexpr unsigned kRows = T::BM / kDown, kColumns = T::BN / kAcross;
  double sum[kRows][kColumns] = {};
  unsigned y = threadIdx.x / kAcross * kRows, x = threadIdx.x % kAcross * kColumns;

  __device__ void add(const slice<T>& from) {
    for (unsigned i = 0; i < T::BK; ++i)
      for (unsigned r = 0; r < kRows; ++r) {
        const double a = from.a[y + r][i];
        for (unsigned s = 0; s < kColumns; ++s) sum[r][s] = fma(a, from.b[i][x + s], sum[r][s]);
      }
  }
  __device__ void store(double* c, shape size, coordinates block, double* /* free */) const {
    for (unsigned r = 0; r < kRows; ++r)
      for (unsigned s = 0; s < kColumns; ++s) {
        const std::size_t row = block.row + y + r, column = block.column + x + s;
        if (row < size.m && column < size.n) c[row * size.n + column] = sum[r][s];
      }
  }
};

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
  for (unsigned s = 0; s + 1 < kStages; ++s) copies.start(stage[s]);
  unsigned now = 0, free = kStages - 1;
  for (std::size_t first = 0; first < in.size.k; first += T::BK) {
    __pipeline_wait_prior(kStages - 2);
    __syncthreads();
    copies.start(stage[free]);
    sums.add(stage[now]);
    free = now;
    now = now + 1 < kStages ? now + 1 : 0;
  }
  sums.store(c, in.size, block, &stage[0].a[0][0]);
}

template <class Sums>
void launch_staged(void (*kernel)(factors, double*), const factors& in, double* c) {
  using T = typename Sums::tiles;
  constexpr unsigned kBytes = kStages * sizeof(slice<T>);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  kernel<<<blocks_for<T>(in.size), T::kThreads, kBytes>>>(in, c);
}

template <class Sums, bool kAligned>
void by_stages(const factors& in, double* c) {
  launch_staged<Sums>(staged<Sums, kAligned>, in, c);
}

}  // namespace

// --- large_mma: a warp multiplies 16 x 8 by 8 x 8 elements ---------------------------------------

template <class T>
__device__ void mma_sums<T>::read(const slice<T>& from, unsigned i, numbers& to) const {
#pragma unroll
  for (unsigned r = 0; r < kDown; ++r)
    *reinterpret_cast<double2*>(to.of_a[r]) = two_at(&from.a[mine.row + 8 * r + g][i + 2 * t]);
#pragma unroll
  for (unsigned s = 0; s < 2 * kAcross; ++s)
    *reinterpret_cast<double2*>(&to.of_b[s / 2][s % 2 * 2]) =
        two_at(&from.b[i + 2 * t + s % 2][mine.column + s / 2 * 16 + 2 * g]);
}

template <class T>
__device__ void mma_sums<T>::multiply(const numbers& from) {
#pragma unroll
  for (unsigned s = 0; s < kAcross; ++s)
#pragma unroll
    for (unsigned r = 0; r < kDown; ++r) multiply_add_16x8x8(sum[r][s], from.of_b[s], from.of_a[r]);
}

template <class T>
__device__ void mma_sums<T>::store(double* c, shape size, coordinates block, double*) const {
#pragma unroll
  for (unsigned r = 0; r < kDown; ++r)
#pragma unroll
    for (unsigned s = 0; s < kAcross; ++s)
#pragma unroll
      for (unsigned h = 0; h < 2; ++h)
        store_two(sum[r][s][h], sum[r][s][2 + h], c, size, block.row + mine.row + 8 * r + 2 * t + h,
                  block.column + mine.column + 16 * s + 2 * g);
}

namespace {

template <class Sums, bool kAligned>
__global__ void __launch_bounds__(Sums::tiles::kThreads) prefetched(factors in, double* c) {
  using T = typename Sums::tiles;
  extern __shared__ __align__(32) unsigned char memory[];
  auto* const stage = reinterpret_cast<slice<T>*>(memory);
  slice_copies<T, kAligned> copies(in, coordinates_of_block<T>(in.size));
  Sums sums;
  typename Sums::numbers now, next;
  copies.start(stage[0]);
  copies.start(stage[1]);
  const std::size_t slices = (in.size.k + T::BK - 1) / T::BK;
  for (std::size_t n = 0; n < slices; ++n) {
    if (n == 0) {
      __pipeline_wait_prior(1);
      __syncthreads();
      sums.read(stage[0], 0, now);
    }
    copies.start(stage[(n + 2) % 3]);
    for (unsigned i = 8; i < T::BK; i += 8) {
      sums.read(stage[n % 3], i, next);
      sums.multiply(now);
      now = next;
    }
    __pipeline_wait_prior(1);
    __syncthreads();
    if (n + 1 < slices) sums.read(stage[(n + 1) % 3], 0, next);
    sums.multiply(now);
    now = next;
  }
  sums.store(c, in.size, coordinates_of_block<T>(in.size), nullptr);
}

struct slices_of_eight : tiling<64, 64, 16, 32, 12, 4> {
  static constexpr unsigned BK = 8;
};

template <bool kAligned>
void launch(step version, const factors& in, double* c) {
  switch (version) {
    case step::cuda_cores:
      return launch_one_stage<neighbour_sums<small_tiling>, kAligned>(in, c);
    case step::wmma:
      return by_stages<wmma_sums<slices_of_eight>, kAligned>(in, c);
    case step::staged:
      return by_stages<wmma_sums<tiling<64, 128, 32, 32, 12, 12>>, kAligned>(in, c);
    case step::large_mma:
      return by_stages<mma_sums<large_tiling>, kAligned>(in, c);
    case step::prefetched: {
      using sums = mma_sums<tiling<64, 128, 32, 64, 8, 2>>;
      return launch_staged<sums>(prefetched<sums, kAligned>, in, c);
    }
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
