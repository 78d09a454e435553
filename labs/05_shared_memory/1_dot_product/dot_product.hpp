// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.1 dot_product: the contract. What the program and the tests expect of dot_product.cu.
#pragma once

#include <cstddef>
#include <span>

namespace lab::dot_product {

/// How many elements the program takes unless it is told otherwise.
inline constexpr std::size_t kDefaultSize = 33 * 1024;

enum class step {
  static_shared,   ///< at most 32 blocks of 256 threads; `__shared__ float x[256]`
  dynamic_shared,  ///< the size of a block is chosen at run time, the grid fills the device, a
                   ///< thread has several products in flight; `extern __shared__ float x[]`, its
                   ///< size the third launch argument
  warp_shuffle,    ///< the same grid; the lanes of a warp add up without shared memory
  vectorized,      ///< the same, and a thread loads four neighbours at a time, as a float4
};

struct result {
  float value = 0;
  float kernel_ms = 0;  ///< the time of the kernel alone
};

/// a[0] * b[0] + a[1] * b[1] + … . The dot product of empty vectors is 0.
///
/// Accuracy: at most dot_error_bound(a, b) (lab/dot_reference.hpp) from the exact sum. Any way that
/// spreads the sum over 1024 threads or more stays within it; one thread that adds everything does
/// not have to. Where products and sums are whole numbers below 2^24, nothing is rounded and the
/// result is exact.
///
/// Throws lab::invalid_input when the lengths differ; lab::cuda_error when CUDA reports an error.
/// Neither leaves device memory behind.
///
/// Requires: a kernel whose threads share the sum, with coalesced loads, and whose blocks add up in
/// shared memory; from warp_shuffle on each warp by shuffles, and shared memory only for the sums
/// of the warps, with at most two barriers; in vectorized loads of 16 bytes. The host adds only
/// what the blocks have, and no library does it.
///
/// From: J. Sanders, E. Kandrot, CUDA by Example, 5.3.1; the step dynamic_shared from the
/// classroom task of the Kazan course on CUDA programming technology, chapter 7. The steps
/// warp_shuffle and vectorized are ours.
result dot(step version, std::span<const float> a, std::span<const float> b);

}  // namespace lab::dot_product
