// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.3 block_scan: the same on the host. Whole numbers modulo 2^32: nothing is rounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "block_scan.hpp"

namespace lab::block_scan {

/// `values` is a whole number of rows.
inline std::vector<std::uint32_t> reference_scan(kind mode, std::span<const std::uint32_t> values,
                                                 std::size_t row_length) {
  std::vector<std::uint32_t> scanned(values.size());
  for (std::size_t begin = 0; begin < values.size(); begin += row_length) {
    const auto row = values.subspan(begin, row_length);
    const auto out = scanned.begin() + static_cast<std::ptrdiff_t>(begin);
    if (mode == kind::inclusive)
      std::inclusive_scan(row.begin(), row.end(), out);
    else
      std::exclusive_scan(row.begin(), row.end(), out, std::uint32_t{0});
  }
  return scanned;
}

}  // namespace lab::block_scan
