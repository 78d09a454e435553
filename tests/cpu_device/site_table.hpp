// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The tables from which the site's explorers are tested (site/tests). The CPU device must give the
// same numbers.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace cpu_device_testing {

/// The rows of site/tests/NAME: its lines without comments.
inline std::vector<std::string> read_site_table(const std::string& name) {
  const auto path = std::filesystem::path(__FILE__).parent_path() / "../../site/tests" / name;
  std::ifstream file(path);
  EXPECT_TRUE(file) << "cannot read " << path;
  std::vector<std::string> rows;
  for (std::string line; std::getline(file, line);)
    if (!line.starts_with('#')) rows.push_back(line);
  return rows;
}

/// Each row has the input of an explorer and, after the first semicolon, the resulting numbers.
/// Expects `numbers`, called with what is given, to return the same.
template <class Numbers>
void expect_site_table(const std::string& name, std::size_t rows_at_least, Numbers numbers) {
  const std::vector<std::string> rows = read_site_table(name);
  EXPECT_GE(rows.size(), rows_at_least);
  for (const std::string& row : rows) {
    const std::string given = row.substr(0, row.find(';'));
    EXPECT_EQ(given + "; " + numbers(given), row) << "the CPU device gives the first of these rows";
  }
}

}  // namespace cpu_device_testing
