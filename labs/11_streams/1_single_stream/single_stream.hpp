// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 11.1 single_stream: the contract. What the program and the tests expect of single_stream.cu.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab::single_stream {

/// What the program works on unless it is told otherwise: the book's vectors, in the book's chunks.
inline constexpr std::size_t kDefaultSize = std::size_t{20} << 20, kDefaultChunk = 1 << 20;

/// Neighbours are averaged within groups of this many elements.
inline constexpr std::size_t kGroup = 256;

struct result {
  std::vector<int> c;
  float total_ms = 0;  ///< from the first copy to the device to the last copy back, by the device
};

/// Averages neighbours of a and b. The vectors fall into groups of kGroup elements: 0 to 255, 256
/// to 511, …; the last one may be shorter. With the next and the next but one of an element
/// meant around the circle of its group,
///
///     as   = (a[i] + a[next] + a[next but one]) / 3      bs the same with b
///     c[i] = (as + bs) / 2
///
/// in whole numbers, divided as C++ divides them (towards 0). Any ints will do: no sum overflows.
///
/// The device never holds more than `chunk` elements of a, of b and of c: they come and go in
/// pieces of `chunk`, the last one shorter, all in one stream. c does not depend on `chunk`.
///
/// Throws lab::invalid_input when the lengths differ, or when chunk is 0 or not a multiple of
/// kGroup (a group must not be torn apart); lab::cuda_error when CUDA reports an error. Neither
/// leaves memory, pinned memory or a stream behind.
///
/// Requires: pinned memory, and one stream of your own in which all copies (cudaMemcpyAsync) and a
/// kernel for each chunk are queued before the host waits. Kernels access device memory only.
///
/// From: J. Sanders, E. Kandrot, CUDA by Example, 10.4. There every element is averaged with two
/// of the first 256, the sum of three ints overflows, and c is never checked.
result process(std::span<const int> a, std::span<const int> b, std::size_t chunk);

}  // namespace lab::single_stream
