// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 10.3 monte_carlo_pi: the contract. What the program and the tests expect of monte_carlo_pi.cu.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lab::monte_carlo_pi {

/// The program's points on the CPU device unless it is told otherwise.
inline constexpr std::size_t kDefaultPoints = std::size_t{1} << 22;

/// The numbers 0, 1, 2, … of a seed are 64 random bits each, and number k can be computed without
/// the numbers before it:
///
///     number(seed, k) = mix(mix(seed) + (k + 1) * kGamma)
///     mix(z):  z = z ^ (z >> 30),  z = z * kFirst,
///              z = z ^ (z >> 27),  z = z * kSecond,
///              z ^ (z >> 31)
///
/// All in unsigned numbers of 64 bits, which wrap around. mix() can be undone, step by step, and
/// kGamma is odd: so no number comes twice among the 2^64 of a seed. (G. Steele, D. Lea,
/// C. Flood, Fast Splittable Pseudorandom Number Generators, 2014: their SplitMix64. That the seed
/// is mixed as well is ours: neighbouring seeds begin far apart.)
inline constexpr std::uint64_t kGamma = 0x9E37'79B9'7F4A'7C15;
inline constexpr std::uint64_t kFirst = 0xBF58'476D'1CE4'E5B9;
inline constexpr std::uint64_t kSecond = 0x94D0'49BB'1331'11EB;

/// A number is a point of the unit square: x is its upper 31 bits, and y the upper 31 of its lower
/// 32, both divided by 2^31. It is a hit if it lies in the quarter circle, x² + y² < 1. In whole
/// numbers: X² + Y² < 2^62. Nothing is rounded.
inline constexpr unsigned kCoordinateBits = 31;

/// n numbers of a seed, from number `first` on, made on the device. (Behind number 2^64 - 1 comes
/// number 0.)
///
/// Throws lab::cuda_error when CUDA reports an error, and leaves no device memory behind.
std::vector<std::uint64_t> draw(std::uint64_t seed, std::uint64_t first, std::size_t n);

enum class step {
  per_hit,    ///< a thread that hits adds 1 to the counter: one atomic for each hit
  per_warp,   ///< each thread counts its hits, the lanes of a warp add them up by shuffles, and
              ///< one lane adds the sum to the counter: one atomic for each warp of the grid
  per_block,  ///< the warps of a block add up in shared memory: one atomic for each block
};

struct grid {
  unsigned blocks = 0;
  unsigned threads = 0;  ///< in a block
};

struct result {
  std::uint64_t hits = 0;
  std::uint64_t atomics = 0;  ///< how many atomic additions to the counter were made
  grid launched;              ///< the grid there was; no blocks where nothing was launched
  float kernel_ms = 0;        ///< the time of the kernel alone
};

inline constexpr std::uint64_t kMostPoints = 0xFFFF'FFFF;

/// How many of the points 0 to points - 1 of the seed are hits. 4 * hits / points is about pi. It
/// is the same number for every step and in every grid.
///
/// The grid is what `wanted` says. Where that has no blocks, as many as the device runs at once
/// (and no more than there is work for); where it has no threads, blocks of 256. Without points
/// nothing is launched.
///
/// Throws lab::invalid_input for more than kMostPoints points, or warps in the grid, for blocks
/// that are no whole warps (multiples of 32), and when a block or the grid is larger than the
/// current device allows, also if there are no points; lab::cuda_error as above.
///
/// Requires: kernels whose threads make the numbers and count the hits. per_hit: exactly one atomic
/// addition to the counter for each hit; per_warp: one for each warp, whose lanes share their
/// counts by warp functions (if it has points); per_block: one for each block, whose warps share
/// theirs in shared memory.
///
/// From: the Kazan course on CUDA programming technology, chapter 4, laboratory work and homework.
result count_hits(step version, std::uint64_t points, std::uint64_t seed, grid wanted = {});

}  // namespace lab::monte_carlo_pi
