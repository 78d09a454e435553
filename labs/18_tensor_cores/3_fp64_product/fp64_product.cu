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
}

// --- wmma: a warp multiplies 8 x 4 by 4 x 8 elements ---------------------------------------------

template <class T>
__device__ void wmma_sums<T>::add(const slice<T>& from) {
  // TODO(2): the slice is BK / 4 steps of 4 along k. In each, load the kDown fragments of A and the
  //          kAcross fragments of B that the warp's tile needs, once, and multiply all pairs of
  //          them. How far apart are the rows of a fragment in `from`, with their pads?
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
}

template <class T>
__device__ void mma_sums<T>::multiply(const numbers& from) {
  // TODO(4, bonus): multiply_add_16x8x8() for each of the warp's operations.
}

template <class T>
__device__ void mma_sums<T>::store(double* c, shape size, coordinates block, double*) const {
  // TODO(5, bonus): for each operation a lane has two neighbours in each of two rows of C. Which
  //          rows, and which columns? store_two().
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
  sums.store(c, in.size, block, &stage[0].a[0][0]);
}

template <bool kAligned>
void launch(step version, const factors& in, double* c) {
  switch (version) {
    case step::cuda_cores:
      throw not_written("step cuda_cores", 1);
    case step::wmma:
      throw not_written("step wmma", 2);  // as above, with wmma_sums<small_tiling>
    case step::staged:
      throw not_written("step staged", 3);  // launch_staged() with staged<…>
    case step::large_mma:
      throw not_written("step large_mma", 4);  // 4, 5: staged<mma_sums<large_tiling>, …>
    case step::prefetched:
      throw not_written("step prefetched", 6);  // prefetched<mma_sums<tall_tiling>, …>
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
