// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 18.3 fp64_product: C = A · B in double, on tensor cores.
// Edit:  this file, from TODO(1) to TODO(3); TODO(4) to TODO(6) are a bonus.
// Run:   scripts/lab run 18.3 -- --step cuda_cores  (then wmma, staged, …)
// Test:  scripts/lab test 18.3
// Hints: scripts/lab hint 18.3                  Chapter: docs/18_tensor_cores.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::fp64_product {
// --- cuda_cores: each thread does one multiply-add per product -----------------------------------

template <class T>
__device__ void core_sums<T>::add(const slice<T>& from) {
  // TODO(1): for each i of the slice, read the numbers of A and of B that this thread needs, each
  //          once, and add all their products to the sums.
  // BEGIN SOLUTION
#pragma unroll
  for (unsigned i = 0; i < T::BK; ++i) {
    double of_b[kColumns];
#pragma unroll
    for (unsigned s = 0; s < kColumns; ++s) of_b[s] = from.b[i][x + s * kAcross];
#pragma unroll
    for (unsigned r = 0; r < kRows; ++r) {
      const double of_a = from.a[y + r * kDown][i];
#pragma unroll
      for (unsigned s = 0; s < kColumns; ++s) sum[r][s] += of_a * of_b[s];
    }
  }
  // END SOLUTION
}

// --- wmma: a warp multiplies 8 x 4 by 4 x 8 elements ---------------------------------------------

template <class T>
__device__ void wmma_sums<T>::add(const slice<T>& from) {
  // TODO(2): the slice is BK / 4 steps of 4 along k. In each, load the kDown fragments of A and the
  //          kAcross fragments of B that the warp's tile needs, once, and multiply all pairs of
  //          them. How far apart are the rows of a fragment in `from`, with their pads?
  // BEGIN SOLUTION
  wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> a[kDown];
  wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::row_major> b[kAcross];
#pragma unroll
  for (unsigned i = 0; i < T::BK; i += 4) {
#pragma unroll
    for (unsigned r = 0; r < kDown; ++r)
      from_shared::load_matrix_sync(a[r], &from.a[mine.row + 8 * r][i], T::BK + T::PadA);
#pragma unroll
    for (unsigned s = 0; s < kAcross; ++s)
      from_shared::load_matrix_sync(b[s], &from.b[i][mine.column + 8 * s], T::BN + T::PadB);
#pragma unroll
    for (unsigned r = 0; r < kDown; ++r)
#pragma unroll
      for (unsigned s = 0; s < kAcross; ++s) wmma::mma_sync(sum[r][s], a[r], b[s], sum[r][s]);
  }
  // END SOLUTION
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
  // TODO(3): one_stage in given.hpp, but with kStages - 1 slices in flight ahead of the one that is
  //          multiplied. __pipeline_wait_prior(n) waits for all batches of this thread but the n
  //          newest ones. copies.start() commits a batch even past the end of k, so their
  //          number is always the same.
  //          Invariants: a slice is complete before any thread reads it, and no thread overwrites
  //          a stage that another one still reads. One barrier for each slice does both.
  // BEGIN SOLUTION
  for (unsigned s = 0; s + 1 < kStages; ++s) copies.start(stage[s]);
  unsigned now = 0, free = kStages - 1;
  for (std::size_t first = 0; first < in.size.k; first += T::BK) {
    __pipeline_wait_prior(kStages - 2);  // this thread's copies into stage[now] have arrived
    __syncthreads();  // all copies have arrived, and all threads are done with stage[free]
    copies.start(stage[free]);
    sums.add(stage[now]);
    free = now;
    now = now + 1 < kStages ? now + 1 : 0;
  }
  // END SOLUTION
  sums.store(c, in.size, block, &stage[0].a[0][0]);
}

/// `kernel` is staged or prefetched, with Sums.
template <class Sums>
void launch_staged(void (*kernel)(factors, double*), const factors& in, double* c) {
  using T = typename Sums::tiles;
  constexpr unsigned kBytes = kStages * sizeof(slice<T>);
  CUDA_CHECK(cudaFuncSetAttribute(kernel,  // more than 48 KiB must be requested
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  kernel<<<blocks_for<T>(in.size), T::kThreads, kBytes>>>(in, c);
}

}  // namespace

// --- large_mma: a warp multiplies 16 x 8 by 8 x 8 elements ---------------------------------------

template <class T>
__device__ void mma_sums<T>::read(const slice<T>& from, unsigned i, numbers& to) const {
  // TODO(4, bonus): read the elements of A and B that the lane needs for the warp's tile, for
  //                 the eight i from `i` to i + 7 of the slice, each element once, with
  //                 two_at().
  // BEGIN SOLUTION
#pragma unroll
  for (unsigned r = 0; r < kDown; ++r) {
    const double2 two = two_at(&from.a[mine.row + 8 * r + g][i + 2 * t]);
    to.of_a[r][0] = two.x, to.of_a[r][1] = two.y;
  }
#pragma unroll
  for (unsigned s = 0; s < kAcross; ++s)
#pragma unroll
    for (unsigned odd = 0; odd < 2; ++odd) {
      const double2 two = two_at(&from.b[i + 2 * t + odd][mine.column + 16 * s + 2 * g]);
      to.of_b[s][2 * odd] = two.x, to.of_b[s][2 * odd + 1] = two.y;
    }
  // END SOLUTION
}

template <class T>
__device__ void mma_sums<T>::multiply(const numbers& from) {
  // TODO(4, bonus): multiply_add_16x8x8() for each of the warp's operations.
  // BEGIN SOLUTION
#pragma unroll
  for (unsigned r = 0; r < kDown; ++r)
#pragma unroll
    for (unsigned s = 0; s < kAcross; ++s)
      multiply_add_16x8x8(sum[r][s], from.of_b[s], from.of_a[r]);
  // END SOLUTION
}

template <class T>
__device__ void mma_sums<T>::store(double* c, shape size, coordinates block, double*) const {
  // TODO(5, bonus): for each operation a lane has two neighbours in each of two rows of C. Which
  //          rows, and which columns? store_two().
  // BEGIN SOLUTION
#pragma unroll
  for (unsigned r = 0; r < kDown; ++r)
#pragma unroll
    for (unsigned s = 0; s < kAcross; ++s)
#pragma unroll
      for (unsigned odd = 0; odd < 2; ++odd)  // column 2 t + odd of the operation is a row of C
        store_two(sum[r][s][odd], sum[r][s][2 + odd], c, size,
                  block.row + mine.row + 8 * r + 2 * t + odd,
                  block.column + mine.column + 16 * s + 2 * g);
  // END SOLUTION
}

// --- prefetched: a warp reads its next numbers while it multiplies -------------------------------

namespace {

template <class Sums, bool kAligned>
__global__ void __launch_bounds__(Sums::tiles::kThreads) prefetched(factors in, double* c) {
  using T = typename Sums::tiles;
  extern __shared__ __align__(32) unsigned char memory[];
  auto* const stage = reinterpret_cast<slice<T>*>(memory);  // kStages of them
  const coordinates block = coordinates_of_block<T>(in.size);
  slice_copies<T, kAligned> copies(in, block);
  Sums sums;
  typename Sums::numbers of[2];
  static_assert(T::BK % 16 == 0, "each slice begins with of[0]");
  // TODO(6, bonus): as in `staged`, but before the numbers for eight i are multiplied, those
  //                 for the next eight are read; with the last eight of a slice, the first ones
  //                 of the next slice. When must that slice be complete, and is one barrier for
  //                 each slice still enough? Invariants: when the work on a slice begins, of[0]
  //                 has its first numbers, and a stage is refilled only after all warps have
  //                 made their last read from it. Numbers read after the last slice are not
  //                 multiplied.
  // BEGIN SOLUTION
  for (unsigned s = 0; s + 1 < kStages; ++s) copies.start(stage[s]);
  unsigned now = 0, free = kStages - 1;
  __pipeline_wait_prior(kStages - 2);
  __syncthreads();
  sums.read(stage[0], 0, of[0]);
  for (std::size_t first = 0; first < in.size.k; first += T::BK) {
    const unsigned next = now + 1 < kStages ? now + 1 : 0;
    copies.start(stage[free]);
#pragma unroll
    for (unsigned i = 0; i < T::BK; i += 8) {
      const bool last = i + 8 == T::BK;
      if (last) {
        __pipeline_wait_prior(kStages - 2);  // this thread's copies into stage[next] have arrived
        __syncthreads();                     // all copies have arrived; all have read stage[now]
      }
      // Numbers read here after the last slice are not multiplied.
      sums.read(stage[last ? next : now], last ? 0 : i + 8, of[1 - i / 8 % 2]);
      sums.multiply(of[i / 8 % 2]);
    }
    free = now;
    now = next;
  }
  // END SOLUTION
  sums.store(c, in.size, block, &stage[0].a[0][0]);
}

template <bool kAligned>
void launch(step version, const factors& in, double* c) {
  switch (version) {
    case step::cuda_cores:
      // BEGIN SOLUTION
      // STUB: throw not_written("step cuda_cores", 1);
      return launch_one_stage<core_sums<small_tiling>, kAligned>(in, c);
      // END SOLUTION
    case step::wmma:
      // BEGIN SOLUTION
      // STUB: throw not_written("step wmma", 2);  // as above, with wmma_sums<small_tiling>
      return launch_one_stage<wmma_sums<small_tiling>, kAligned>(in, c);
      // END SOLUTION
    case step::staged:
      // BEGIN SOLUTION
      // STUB: throw not_written("step staged", 3);  // launch_staged() with staged<…>
      return launch_staged<wmma_sums<staged_tiling>>(staged<wmma_sums<staged_tiling>, kAligned>, in,
                                                     c);
      // END SOLUTION
    case step::large_mma:
      // BEGIN SOLUTION
      // STUB: throw not_written("step large_mma", 4);  // 4, 5: staged<mma_sums<large_tiling>, …>
      return launch_staged<mma_sums<large_tiling>>(staged<mma_sums<large_tiling>, kAligned>, in, c);
      // END SOLUTION
    case step::prefetched:
      // BEGIN SOLUTION
      // STUB: throw not_written("step prefetched", 6);  // prefetched<mma_sums<tall_tiling>, …>
      return launch_staged<mma_sums<tall_tiling>>(prefetched<mma_sums<tall_tiling>, kAligned>, in,
                                                  c);
      // END SOLUTION
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
