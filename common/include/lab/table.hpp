// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Tables of measurements: on the screen, as CSV for other programs, and as the data of a chart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

namespace lab {

/// One value of a table. A number that is not there (a size that a step cannot do) is NaN: an empty
/// cell.
using cell = std::variant<std::string, std::int64_t, double>;

/// Rows of equal length under named columns.
///
///     lab::table rows({"size", "step", "ms"});
///     rows.add({std::int64_t{1024}, "tile_16", 0.031});
///     std::cout << rows.text();
class table {
 public:
  /// Throws invalid_input without columns, and for two of the same name.
  explicit table(std::vector<std::string> columns);

  /// Throws invalid_input unless there is one cell for each column.
  void add(std::vector<cell> row);

  const std::vector<std::string>& columns() const noexcept { return columns_; }
  const std::vector<std::vector<cell>>& rows() const noexcept { return rows_; }
  /// The cell of row `row` in the column called `column`. Throws invalid_input where there is none.
  const cell& at(std::size_t row, const std::string& column) const;

  /// For people: aligned columns, numbers right-aligned and with four digits.
  std::string text() const;
  /// For programs (RFC 4180): a line of names, then one line per row, numbers in full.
  std::string csv() const;

 private:
  std::vector<std::string> columns_;
  std::vector<std::vector<cell>> rows_;
};

/// Writes table::csv(). The file appears whole or not at all. Throws invalid_input with the path
/// and the reason when it cannot be written.
void write_csv(const table& rows, const std::filesystem::path& path);

}  // namespace lab
