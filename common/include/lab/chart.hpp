// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line charts as SVG files, which every browser shows.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "lab/table.hpp"

namespace lab {

/// One line of a chart, drawn through its points in their order.
struct chart_line {
  std::string name;
  std::vector<std::pair<double, double>> points;  ///< x and y; one that is not finite is left out
};

struct chart {
  std::string title;
  std::string x_label, y_label;        ///< with the unit: "bytes", "GB/s"
  bool log_x = false, log_y = false;   ///< a logarithmic axis, which leaves out what is not > 0
  std::vector<chart_line> lines = {};  ///< at least one, with at least one point in all
};

/// One line for each value of the column `line`, through the numbers of the columns x and y.
/// Throws invalid_input where a column is missing or x or y is no number.
std::vector<chart_line> lines_of(const table& rows, const std::string& line, const std::string& x,
                                 const std::string& y);

/// The chart as the text of an SVG file. Throws invalid_input when there is no point to draw.
std::string svg(const chart& what);

/// Writes svg(). The file appears whole or not at all. Throws invalid_input with the path and the
/// reason when it cannot be written.
void write_svg(const chart& what, const std::filesystem::path& path);

}  // namespace lab
