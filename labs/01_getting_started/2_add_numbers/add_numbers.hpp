// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 01.2 add_numbers: the contract. What the program and the tests expect of add_numbers.cu.
#pragma once

namespace lab::add_numbers {

/// Who frees the device memory.
enum class step {
  by_hand,  ///< cudaMalloc, cudaMemcpy and cudaFree, each error looked at where it comes up
  owner,    ///< lab::device_buffer, which frees what it owns
};

/// a + b, computed by one thread on the device. What does not fit an int wraps around, as in
/// arithmetic with unsigned numbers: the largest int plus 1 is the smallest one.
///
/// The kernel runs in one block of `threads` threads, and thread 0 does the work. One is enough;
/// the parameter is there so that you can ask for what CUDA refuses.
///
/// Throws lab::cuda_error when CUDA reports an error: cudaErrorInvalidValue (in CUDA 12
/// cudaErrorInvalidConfiguration) for 0 threads, and for more than a block may have. All device
/// memory is freed, whether the function returns or throws.
///
/// Requires: the addition in a kernel, and the sum copied back; the host adds nothing.
///
/// From: J. Sanders, E. Kandrot, CUDA by Example, 3.2.3; the Kazan course on CUDA programming
/// technology, chapter 3.
int add(step version, int a, int b, unsigned threads = 1);

}  // namespace lab::add_numbers
