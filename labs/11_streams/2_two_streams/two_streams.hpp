// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 11.2 two_streams: the contract. What the program and the tests expect of two_streams.cu.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab::two_streams {

/// What the program works on unless it is told otherwise: the book's vectors, in the book's chunks.
inline constexpr std::size_t kDefaultSize = std::size_t{20} << 20, kDefaultChunk = 1 << 20;

/// Neighbours are averaged within groups of this many elements.
inline constexpr std::size_t kGroup = 256;

enum class step {
  one_stream,     ///< as in 11.1, for comparison
  depth_first,    ///< two streams; all the work for one chunk is queued before the next chunk's
  breadth_first,  ///< two streams; both chunks' copies of a, then of b, both kernels, both copies
                  ///< back
};

struct result {
  std::vector<int> c;
  float total_ms = 0;  ///< from the first copy to the device to the last copy back, by the device
};

/// The same calculation as in 11.1: with the next and the next but one of an element meant around
/// the circle of its group of kGroup elements (0 to 255, 256 to 511, …; the last may be shorter),
///
///     as   = (a[i] + a[next] + a[next but one]) / 3      bs the same with b
///     c[i] = (as + bs) / 2
///
/// in whole numbers, divided as C++ divides them (towards 0). Any ints will do: no sum overflows.
///
/// The data goes through the device in pieces of `chunk` elements, the last one shorter. With two
/// streams, these take turns, each with memory for one chunk of its own. c depends neither on
/// `chunk` nor on the step.
///
/// Throws lab::invalid_input when the lengths differ, or when chunk is 0 or not a multiple of
/// kGroup; lab::cuda_error when CUDA reports an error. Neither leaves memory, pinned memory, a
/// stream or an event behind.
///
/// Requires: pinned memory and cudaMemcpyAsync; in depth_first and breadth_first two streams of
/// your own that take turns with the chunks, with the work queued in the order that the step is
/// named for.
///
/// From: J. Sanders, E. Kandrot, CUDA by Example, 10.5 (depth_first) and 10.7 (breadth_first).
result process(step version, std::span<const int> a, std::span<const int> b, std::size_t chunk);

}  // namespace lab::two_streams
