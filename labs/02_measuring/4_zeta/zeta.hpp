// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 02.4 zeta: the contract. What the program and the tests expect of zeta.cu.
#pragma once

#include <cstddef>

namespace lab::zeta {

/// The grid is always the same: 8 blocks of 128 threads, each with a partial sum of its own.
constexpr unsigned kBlocks = 8;
constexpr unsigned kThreads = 128;
constexpr std::size_t kPartialSums = std::size_t{kBlocks} * kThreads;

constexpr unsigned kLargestExponent = 20;
constexpr std::size_t kMostTerms = std::size_t{1} << 32;

enum class step {
  large_first,  ///< 1, 1/2^s, 1/3^s …: the terms in their usual order
  small_first,  ///< the last term first, the 1 last
};

/// The type of number that all sums are in, on the device and on the host.
enum class precision { in_float, in_double };

struct result {
  double value = 0;
  float kernel_ms = 0;  ///< the time of the kernel alone
};

/// The first terms of the series zeta(s) = 1 + 1/2^s + 1/3^s + 1/4^s …, added up in the order that
/// `version` says. Each thread adds a run of neighbouring terms in this order, the host adds the
/// threads' sums in this order, and both add numbers of the type that `type` says. The sum of 0
/// terms is 0.
///
/// Accuracy: at most rounding_bound() (reference.hpp) from the exact sum of these terms, and so at
/// most error_bound() from zeta(s).
///
/// Throws lab::invalid_input unless 2 <= s <= kLargestExponent (for s = 1 the series has no sum)
/// and terms <= kMostTerms; lab::cuda_error when CUDA reports an error. Neither leaves device
/// memory behind.
///
/// Requires: a kernel of kPartialSums threads, each with the sum of its own terms; the host adds
/// only these.
///
/// From: the Kazan course on CUDA programming technology, chapter 3.
result sum(step version, precision type, unsigned s, std::size_t terms);

}  // namespace lab::zeta
