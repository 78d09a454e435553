// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.5 integrals: the contract. What the program and the tests expect of integrals.cu.
#pragma once

#include <cstddef>

namespace lab::integrals {

/// What one panel (l, r) of width h, with its middle m, contributes.
enum class rule {
  midpoint,   ///< h * f(m)
  trapezoid,  ///< h * (f(l) + f(r)) / 2
  simpson,    ///< h * (f(l) + 4 * f(m) + f(r)) / 6
};

enum class integrand {
  bell,         ///< 4 / (1 + x²): from 0 to 1 its integral is π
  sine,         ///< sin x
  exponential,  ///< e^x
  cubic,        ///< 4x³ - 3x² + 2x - 1: Simpson's rule is exact
  half_circle,  ///< √(1 - x²), from -1 to 1 only; its slope is infinite at both ends
};

/// The program's panels unless it is told otherwise.
constexpr std::size_t kDefaultPanels = 1'000'000;

/// The largest n: up to here every panel's number is a double.
constexpr std::size_t kMaxPanels = std::size_t{1} << 53;

struct result {
  double value = 0;
  float kernel_ms = 0;  ///< the time of the kernel alone
};

/// The integral of f from a to b, by cutting it into n panels of equal width and adding up what
/// `quadrature` says of each. n may be any number from 1 to kMaxPanels, even or odd. Where a =
/// b the result is 0; where a > b it is that from b to a, with a minus.
///
/// Accuracy: the value is the rule's, not the integral's, which differs by what the rule leaves
/// out. From the rule's it is at most reference(…).bound (reference.hpp) away, which any way that
/// computes in double, with a thread for each panel, or 1024 threads or more in 1024 blocks at
/// most, stays within.
///
/// Throws lab::invalid_input when a, b or b - a is not finite, when n is 0 or above kMaxPanels, and
/// when half_circle is to be integrated beyond -1 or 1; lab::cuda_error when CUDA reports an error.
///
/// Requires: a kernel whose threads share the panels, and add up in shared memory, in double; the
/// host adds what the blocks have.
///
/// From: the midpoint rule and the comparison with trapezoid and Simpson's from the Kazan course on
/// CUDA programming technology, chapter 7; one Simpson panel per thread, and π, from the course on
/// parallel programming with C++ of Ulm University. (There n must be a multiple of the block.)
result integrate(rule quadrature, integrand f, double a, double b, std::size_t n);

}  // namespace lab::integrals
