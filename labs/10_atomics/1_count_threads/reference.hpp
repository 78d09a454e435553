// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 10.1 count_threads: what the counts are compared with. Whole numbers: they are exact.
#pragma once

#include <algorithm>
#include <cstdint>

#include "count_threads.hpp"

namespace lab::count_threads {

inline std::uint64_t rows_of(const shape& grid) {
  return std::uint64_t{grid.blocks.y} * grid.threads.y;
}
inline std::uint64_t columns_of(const shape& grid) {
  return std::uint64_t{grid.blocks.x} * grid.threads.x;
}

/// Whether the thread in row i and column j is to be counted.
inline bool fulfils(condition criterion, std::uint64_t i, std::uint64_t j) {
  switch (criterion) {
    case condition::every_thread:
      return true;
    case condition::on_or_below_diagonal:
      return i >= j;
    case condition::on_diagonal:
      return i == j;
    case condition::chessboard:
      return (i + j) % 2 == 0;
  }
  return false;
}

/// How many threads are to be counted, without looking at each.
///
/// i >= j: column j has the rows j, j + 1, … rows - 1: rows - j of them, as long as j < rows.
/// Summed up over the first m columns, m the smaller of rows and columns, that is m * rows - (0 + 1
/// + … + (m - 1)).
inline std::uint64_t closed_form(condition criterion, const shape& grid) {
  const std::uint64_t rows = rows_of(grid), columns = columns_of(grid);
  const std::uint64_t smaller = std::min(rows, columns);
  switch (criterion) {
    case condition::every_thread:
      return rows * columns;
    case condition::on_or_below_diagonal:
      return smaller == 0 ? 0 : smaller * rows - smaller * (smaller - 1) / 2;
    case condition::on_diagonal:
      return smaller;
    case condition::chessboard:
      return (rows * columns + 1) / 2;
  }
  return 0;
}

}  // namespace lab::count_threads
