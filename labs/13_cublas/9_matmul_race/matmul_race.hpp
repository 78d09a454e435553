// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.9 matmul_race: the contract. What the program and the tests expect of matmul_race.cu.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab::matmul_race {

/// m, n and k of the program's last product on the CPU device unless it is told otherwise.
inline constexpr std::size_t kDefaultLargest = 256;

/// Who multiplies.
enum class racer {
  own_kernel,  ///< a kernel with tiles in shared memory
  cublas,      ///< cublasSgemm
  cublas_xt,   ///< cublasXtSgemm, on the current device, from host memory to host memory
  host,        ///< no GPU: OpenBLAS, or a plain loop where that is not installed
};
inline constexpr racer kRacers[] = {racer::own_kernel, racer::cublas, racer::cublas_xt,
                                    racer::host};

/// C = A · B, where A has m rows and k columns, B has k rows and n columns. All are row-major.
struct shape {
  std::size_t m = 0;
  std::size_t n = 0;
  std::size_t k = 0;
};

/// What came out of `laps` products of the same matrices, one after the other.
struct result {
  std::vector<float> c;  ///< what the last lap has made
  /// A number for each lap: milliseconds from A and B in host memory to C in host memory, by the
  /// host's clock. Memory of the device is allocated, filled and read in this time. (Handles are
  /// made before the first lap.)
  std::vector<float> total_ms;
  /// A number for each lap, for own_kernel and cublas: the product alone, with the matrices in
  /// device memory, by the device's clock. Empty for the others, which have no such thing.
  std::vector<float> product_ms;
};

/// Multiplies a and b `laps` times. Every lap begins anew: nothing of an earlier one is used.
///
/// Accuracy: at most the bound of compare_product() (lab/matrix_closeness.hpp) from the exact
/// product. Where products and sums are whole numbers below 2^24, nothing is rounded and all racers
/// agree exactly.
///
/// With m, n or k = 0 there is nothing to race about: C is all zeros, and there are no times.
///
/// Throws lab::invalid_input when a or b is not as long as the size says, when there are no laps,
/// or when a side is too large for a grid or for cuBLAS's int; lab::cublas_error when cuBLAS,
/// lab::cuda_error when CUDA reports an error. None of them leaves device memory or a handle
/// behind.
///
/// Requires: each racer runs by its own means: a kernel with tiles in shared memory, cublasSgemm,
/// cublasXtSgemm, the host; all of it in each lap, with the same handle. The device's clock is read
/// by events right before and right after the product.
///
/// From: the Kazan course on CUDA programming technology, chapter 9, third homework.
result race(racer contender, std::span<const float> a, std::span<const float> b, shape size,
            std::size_t laps);

}  // namespace lab::matmul_race
