// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 02.4 zeta: what the result is compared with, and how far it may be from it.
#pragma once

#include <cmath>
#include <cstddef>

#include "zeta.hpp"

namespace lab::zeta {

/// The sum of the first terms in long double, the smallest first.
inline long double reference(unsigned s, std::size_t terms) {
  long double sum = 0;
  for (std::size_t j = terms; j > 0; --j) {
    long double term = 1;
    for (unsigned k = 0; k < s; ++k) term /= static_cast<long double>(j);
    sum += term;
  }
  return sum;
}

/// zeta(s): ten thousand terms, and for the others Euler's formula with the first three parts:
/// their integral from N, minus half the term N, plus s / (12 N^(s+1)). What is left out is less
/// than s³ / N^(s+3), which no long double shows.
inline double exact(unsigned s) {
  constexpr std::size_t kTerms = 10'000;
  const auto n = static_cast<long double>(kTerms);
  const auto power = static_cast<long double>(s);
  const long double last = std::pow(n, -power);
  return static_cast<double>(reference(s, kTerms) + last * n / (power - 1) - last / 2 +
                             power * last / n / 12);
}

/// What all terms after the first `terms` add up to, at most: as each of them is smaller than the
/// area below 1/x^s from the term before it to itself, less than the integral from `terms` on,
/// which is terms^(1-s) / (s-1).
inline double truncation_bound(unsigned s, std::size_t terms) {
  if (terms == 0) return exact(s);
  return std::pow(static_cast<double>(terms), 1 - static_cast<double>(s)) / (s - 1);
}

/// How far the computed sum may be from the exact sum of these terms. u is what a rounding moves a
/// number by: at most 2^-24 of itself for floats, 2^-53 for doubles.
///
/// Each term goes through some roundings until it is in the result, and each moves it by u of
/// itself. So count the roundings of each term:
/// - 3s - 1 for the term alone: j, 1/j, and s - 1 multiplications, of numbers that are off by 2u.
/// - small_first: in its thread, term j is in the additions from its own to that of the thread's
///   first term; on the host, in those of the threads before. As every thread before has at least
///   one term, these are at most j + 1. The 1 goes through few, and only terms that are small
///   go through many: the sum of (j + 3s) / j^s is that of 1 / j^(s-1), which is at most 1 + ln(n)
///   for s = 2 and zeta(2) < 1.65 above, plus 3s * zeta(s).
/// - large_first: the 1 is in *all* additions of its thread, m of them, and in all on the host.
///   So is every other large term: (m + kPartialSums + 3s) * zeta(s).
/// (1 + u)^k is not quite 1 + k * u, but below 1 + k * u / (1 - k * u). Numbers below the smallest
/// normal float are off by 2^-149 in each multiplication.
inline double rounding_bound(step version, precision type, unsigned s, std::size_t terms) {
  if (terms == 0) return 0;
  const double u = type == precision::in_float ? 0x1p-24 : 0x1p-53;
  const auto n = static_cast<double>(terms);
  const double m = std::ceil(n / static_cast<double>(kPartialSums));
  constexpr double kZeta2 = 1.65;  // rounded up; zeta(s) is smaller for every s above 2
  const double most = m + static_cast<double>(kPartialSums) + 3 * s;
  const double small_first = (s == 2 ? 1 + std::log(n) : kZeta2) + 3 * s * kZeta2;
  const double roundings = version == step::small_first ? small_first : most * kZeta2;
  return roundings * u / (1 - most * u) + n * s * 0x1p-149;
}

/// How far the computed sum may be from zeta(s).
inline double error_bound(step version, precision type, unsigned s, std::size_t terms) {
  return truncation_bound(s, terms) + rounding_bound(version, type, s, terms);
}

}  // namespace lab::zeta
