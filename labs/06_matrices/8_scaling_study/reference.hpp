// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.8 scaling_study: problems whose solution is known, and what the rows must satisfy.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lab/closeness.hpp"
#include "lab/known_product.hpp"
#include "lab/report.hpp"
#include "scaling_study.hpp"

namespace lab::scaling_study {

/// A problem of any size whose product needs no multiplication of matrices: lab/known_product.hpp
/// has the formula. All sums are exact in floats. Throws invalid_input for k > 65536.
inline problem make_problem(shape size, std::uint64_t seed) {
  auto known = make_known_product(size.m, size.n, size.k, seed);
  return {size, std::move(known.a), std::move(known.b), std::move(known.c)};
}

/// Are these the rows that were asked for, and does each of them follow from its own samples?
inline comparison check(std::span<const row> rows, std::span<const problem> problems,
                        std::span<const unsigned> blocks, plan options) {
  if (rows.size() != problems.size() * blocks.size())
    return {false, std::to_string(rows.size()) + " rows, expected " +
                       std::to_string(problems.size()) + " problems with " +
                       std::to_string(blocks.size()) + " block sizes each"};
  // Both sides are made of the same doubles by a few operations, each rounded by 2^-53 at most.
  const auto same = [](double got, double wanted) {
    return inside(got, wanted, {.absolute = 0, .relative = 0x1p-50});
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const row& each = rows[i];
    const shape size = problems[i / blocks.size()].size;
    const auto wrong = [&](const std::string& reason) {
      return comparison{false, "row " + std::to_string(i) + " (" + std::to_string(size.m) + " x " +
                                   std::to_string(size.n) + " x " + std::to_string(size.k) +
                                   ", block " + std::to_string(blocks[i % blocks.size()]) +
                                   "): " + reason};
    };
    if (!(each.size == size)) return wrong("is of another problem");
    if (each.block != blocks[i % blocks.size()]) return wrong("is of another block size");
    const double operations = 2.0 * static_cast<double>(size.m) * static_cast<double>(size.n) *
                              static_cast<double>(size.k);
    if (each.operations != operations) return wrong("the operations are not 2 m n k");
    if (each.launches == 0) return wrong("a sample has no launches");
    if (each.sample_ms.size() != options.samples)
      return wrong(std::to_string(each.sample_ms.size()) + " samples, expected " +
                   std::to_string(options.samples));
    for (const float ms : each.sample_ms)
      if (!(ms > 0 && ms >= options.sample_ms && std::isfinite(ms)))
        return wrong("a sample of " + std::to_string(ms) + " ms is too short");
    if (!same(each.ms, summarize(each.sample_ms).median_ms / each.launches))
      return wrong("the time is not the median of the samples, for one launch");
    if (!same(each.gflops * each.ms * 1e6, operations))
      return wrong("GFLOP/s times the time are not the operations");
  }
  return {true, std::to_string(rows.size()) +
                    " rows, every product verified before it was timed, " +
                    "every rate made of its samples"};
}

}  // namespace lab::scaling_study
