// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <set>
#include <utility>

#include "lab/atomic_file.hpp"
#include "lab/errors.hpp"

namespace lab {
namespace {

std::string in_full(double value) {
  if (std::isnan(value)) return "";
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;  // reads back as it was
  return {text, end};
}

std::string for_people(const cell& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  const double number = std::get<double>(value);
  if (std::isnan(number)) return "-";
  char text[64];
  std::snprintf(text, sizeof text, "%.4g", number);
  return text;
}

std::string quoted_if_needed(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + '"';
}

std::string for_programs(const cell& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return quoted_if_needed(*text);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  return in_full(std::get<double>(value));
}

}  // namespace

table::table(std::vector<std::string> columns) : columns_(std::move(columns)) {
  if (columns_.empty()) throw invalid_input("a table needs at least one column");
  if (std::set<std::string>(columns_.begin(), columns_.end()).size() != columns_.size())
    throw invalid_input("two columns of a table have the same name");
}

void table::add(std::vector<cell> row) {
  if (row.size() != columns_.size())
    throw invalid_input("a row of " + std::to_string(row.size()) +
                        " cells does not fit into a table of " + std::to_string(columns_.size()) +
                        " columns");
  rows_.push_back(std::move(row));
}

const cell& table::at(std::size_t row, const std::string& column) const {
  const auto found = std::find(columns_.begin(), columns_.end(), column);
  if (found == columns_.end()) throw invalid_input("the table has no column '" + column + "'");
  if (row >= rows_.size())
    throw invalid_input("the table has no row " + std::to_string(row) + ", only " +
                        std::to_string(rows_.size()));
  return rows_[row][static_cast<std::size_t>(found - columns_.begin())];
}

std::string table::text() const {
  std::vector<std::vector<std::string>> lines = {columns_};
  for (const auto& row : rows_) {
    auto& line = lines.emplace_back();
    for (const cell& value : row) line.push_back(for_people(value));
  }
  std::string result;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string line;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      std::size_t width = 0;
      for (const auto& other : lines) width = std::max(width, other[c].size());
      const std::string blanks(width - lines[i][c].size(), ' ');
      // A column is as its first row is: text to the left, numbers to the right.
      const bool is_text = !rows_.empty() && std::holds_alternative<std::string>(rows_[0][c]);
      if (c > 0) line += "  ";
      line += is_text ? lines[i][c] + blanks : blanks + lines[i][c];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + "\n";
  }
  return result;
}

std::string table::csv() const {
  std::string result;
  const auto add_line = [&](const auto& values, const auto& as_text) {
    for (std::size_t c = 0; c < values.size(); ++c)
      result += (c > 0 ? "," : "") + as_text(values[c]);
    result += "\n";
  };
  add_line(columns_, quoted_if_needed);
  for (const auto& row : rows_) add_line(row, for_programs);
  return result;
}

void write_csv(const table& rows, const std::filesystem::path& path) {
  const std::string text = rows.csv();
  atomic_file file(path);
  file.write(text.data(), text.size());
  file.commit();
}

}  // namespace lab
