// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The dot product on the host, how far one in float may be from it, and vectors for which it must
// be exact.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "lab/closeness.hpp"
#include "lab/random.hpp"

namespace lab {

/// The dot product in double. A product of two floats is exact in double (24 + 24 bits fit into
/// 53), and each rounding of the sum is 2^29 times finer than one of a float. The vectors are
/// equally long.
inline double dot_in_double(std::span<const float> a, std::span<const float> b) {
  return std::transform_reduce(
      a.begin(), a.end(), b.begin(), 0.0, std::plus<>{},
      [](float x, float y) { return static_cast<double>(x) * static_cast<double>(y); });
}

/// How far a dot product in floats may be from the exact one if each product a[i] * b[i], on its
/// way into the result, goes through at most `roundings` roundings: its own and one for each
/// addition.
///
/// A rounding of a float multiplies a number by something from 1 - u to 1 + u, with u = 2^-24. So
/// after all its roundings a product arrives off by at most (1 + u)^roundings - 1 of itself (for
/// few of them that is roundings * u, for a million 3 % more), and the sum by as much of sum |a[i]
/// * b[i]|. (Where terms cancel, the sum is much smaller than that, and no order of the additions
/// brings back what large terms rounded away.) The reference that it is compared with has roundings
/// of its own: in dot_in_double() a product goes through at most one for each of the n additions,
/// of 2^-53 each.
inline double dot_error_bound(std::span<const float> a, std::span<const float> b,
                              double roundings) {
  const double magnitude = std::transform_reduce(
      a.begin(), a.end(), b.begin(), 0.0, std::plus<>{},
      [](float x, float y) { return std::fabs(static_cast<double>(x) * static_cast<double>(y)); });
  const double of_the_result = std::expm1(roundings * std::log1p(0x1p-24));
  const double of_the_reference = static_cast<double>(a.size()) * 0x1p-53;
  return (of_the_result + of_the_reference) * magnitude;
}

/// The same for a sum that is shared by 1024 threads or more, of however many blocks, devices or
/// processes (fewer only where each has a single product). A thread then adds at most n / 1024
/// products, rounded up. 32 more roundings cover the rest: the product's own, the up to four sums
/// of a thread, the levels of the tree of a block (10 for 1024 threads), the result's. The sums of
/// blocks are added in double, or are few.
inline double dot_error_bound(std::span<const float> a, std::span<const float> b) {
  return dot_error_bound(a, b, std::ceil(static_cast<double>(a.size()) / 1024) + 32);
}

/// Vectors whose products are all 1 or -1, so that floats add them exactly: one product that is
/// lost, or counted twice, changes the dot product, however many there are.
struct exact_vectors {
  std::vector<float> a, b;
  double dot = 0;
};

/// Up to 2^24 products, three of four are 1: no sum of any of them in any order is rounded, and to
/// lose a whole block of them cannot go unnoticed either. Of more products, one half is 1: what is
/// then far from 2^24 are the sums of a random half, that is, those of any order that does not
/// depend on the signs.
inline exact_vectors make_exact_vectors(std::size_t n, std::uint64_t seed) {
  exact_vectors made{std::vector<float>(n), std::vector<float>(n)};
  random_source random(seed);
  const std::uint64_t share_of_minus_ones = n <= (std::size_t{1} << 24) ? 1 : 2;  // of 4
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t bits = random.bits();
    const bool minus = bits % 4 < share_of_minus_ones;
    // Not 1 and 1: multiplying a[i] by anything but b[i] gives a different result.
    const float size = bits / 4 % 2 == 0 ? 2.0F : 0.5F;
    made.a[i] = bits / 8 % 2 == 0 ? size : -size;
    made.b[i] = (minus ? -1.0F : 1.0F) / made.a[i];
    sum += minus ? -1 : 1;
  }
  made.dot = static_cast<double>(sum);
  return made;
}

/// Whether `dot`, a function of two vectors, counts each product of these once. A bound for
/// rounding errors cannot tell: with many elements, one of them is less than the bound.
template <class Dot>
comparison check_exact_dot(const exact_vectors& vectors, const Dot& dot) {
  comparison result =
      compare(static_cast<double>(dot(vectors.a, vectors.b)), vectors.dot, tolerance{});
  const std::size_t n = vectors.a.size();
  const std::string products = std::to_string(n) + (n == 1 ? " product" : " products");
  result.message = result.ok ? "each of " + products + " of 1 or -1 was added once"
                             : "the sum of " + products + " of 1 or -1: " + result.message;
  return result;
}
template <class Dot>
comparison check_exact_dot(std::size_t n, std::uint64_t seed, const Dot& dot) {
  return check_exact_dot(make_exact_vectors(n, seed), dot);
}

}  // namespace lab
