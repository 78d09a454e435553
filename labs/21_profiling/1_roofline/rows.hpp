// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 21.1 roofline: kernels that a profiler has counted, from a file. Host code, given.
#pragma once

#include <charconv>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "lab/errors.hpp"
#include "roofline.hpp"

namespace lab::roofline {

struct counted_kernel {
  std::string name;
  work done;
  double ms = 0;  ///< 0: not timed
};

/// Reads lines `name,operations,bytes,ms`; the first line has these four words. Throws
/// invalid_input, with the line's number, for what is no such line.
inline std::vector<counted_kernel> read_rows(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw invalid_input("--rows: cannot read " + path);
  std::vector<counted_kernel> rows;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    const auto refuse = [&](const std::string& reason) {
      throw invalid_input("--rows: line " + std::to_string(number) + " of " + path + " " + reason);
    };
    if (number == 1) {
      if (line != "name,operations,bytes,ms") refuse("must be \"name,operations,bytes,ms\"");
      continue;
    }
    if (line.empty()) continue;
    std::string_view rest = line;
    double values[3] = {};
    for (int i = 2; i >= 0; --i) {  // from behind: a name may have commas
      const std::size_t comma = rest.rfind(',');
      if (comma == std::string_view::npos) refuse("has fewer than four columns");
      const std::string_view text = rest.substr(comma + 1);
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), values[i]);
      if (error != std::errc{} || end != text.data() + text.size())
        refuse("has \"" + std::string(text) + "\" where a number belongs");
      rest = rest.substr(0, comma);
    }
    rows.push_back({std::string(rest), {values[0], values[1]}, values[2]});
  }
  if (rows.empty()) throw invalid_input("--rows: " + path + " has no kernels");
  return rows;
}

}  // namespace lab::roofline
