// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 14.4 sorting_study: problems, and what the rows must satisfy.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "lab/closeness.hpp"
#include "lab/report.hpp"
#include "sorting_study.hpp"

namespace lab::sorting_study {

inline problem make_problem(batch arrays, std::uint64_t seed) {
  problem made{arrays, make_key_values(arrays.count * arrays.length, seed), {}};
  made.sorted_keys = made.input.keys;
  for (std::size_t i = 0; i < arrays.count; ++i)
    std::ranges::sort(std::span(made.sorted_keys).subspan(i * arrays.length, arrays.length));
  return made;
}

/// Comparators for one problem; 0 for the radix sort, which has none.
inline double comparators(method algorithm, batch arrays) {
  const int levels = std::countr_zero(arrays.length);
  double of_array = 0;
  for (int level = 1; level <= levels; ++level) {
    const double half_run = std::exp2(level - 1);
    const double runs = static_cast<double>(arrays.length) / (2 * half_run);
    if (algorithm == method::bitonic) of_array += runs * half_run * level;
    if (algorithm == method::odd_even) of_array += runs * (half_run * (level - 1) + 1);
  }
  return of_array * static_cast<double>(arrays.count);
}

/// Are these the rows that were asked for, and does each of them follow from its own samples?
inline comparison check(std::span<const row> rows, std::span<const problem> problems,
                        std::span<const method> methods, unsigned samples) {
  if (rows.size() != problems.size() * methods.size())
    return {false, std::to_string(rows.size()) + " rows, expected " +
                       std::to_string(problems.size()) + " problems with " +
                       std::to_string(methods.size()) + " methods each"};
  // Both sides are made of the same doubles by a few operations, each rounded by 2^-53 at most.
  const auto same = [](double got, double wanted) {
    return inside(got, wanted, {.absolute = 0, .relative = 0x1p-50});
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const row& each = rows[i];
    const batch arrays = problems[i / methods.size()].arrays;
    const auto wrong = [&](const std::string& reason) {
      return comparison{false, "row " + std::to_string(i) + " (" + std::to_string(arrays.count) +
                                   " arrays of " + std::to_string(arrays.length) + "): " + reason};
    };
    if (!(each.arrays == arrays)) return wrong("is of another problem");
    if (each.algorithm != methods[i % methods.size()]) return wrong("is of another method");
    if (each.sample_ms.size() != samples)
      return wrong(std::to_string(each.sample_ms.size()) + " samples, expected " +
                   std::to_string(samples));
    for (const float ms : each.sample_ms)
      if (!(ms > 0 && std::isfinite(ms)))
        return wrong("a sample of " + std::to_string(ms) + " ms is no time");
    if (!same(each.ms, summarize(each.sample_ms).median_ms))
      return wrong("the time is not the median of the samples");
    if (!same(each.rate * each.ms * 1e3, static_cast<double>(arrays.count * arrays.length)))
      return wrong("the rate times the time are not the elements");
  }
  return {true, std::to_string(rows.size()) + " rows, every sort verified before it was timed, " +
                    "every rate made of its samples"};
}

}  // namespace lab::sorting_study
