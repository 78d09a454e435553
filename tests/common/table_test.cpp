// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/table.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include "lab/errors.hpp"

namespace {

using lab::cell;
using lab::table;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

table sizes() {
  table rows({"step", "size", "ms"});
  rows.add({"tile_16", std::int64_t{1000}, 0.1});
  rows.add({"cublas", std::int64_t{7}, 1.0 / 3});
  rows.add({"none", std::int64_t{-1}, kNaN});
  return rows;
}

TEST(Table, StandsInColumns) {
  EXPECT_EQ(sizes().text(),
            "step     size      ms\n"
            "tile_16  1000     0.1\n"
            "cublas      7  0.3333\n"
            "none       -1       -\n");
  EXPECT_EQ(table({"a", "b"}).text(), "a  b\n");
}

TEST(Table, GivesNumbersInFullAsCsv) {
  EXPECT_EQ(sizes().csv(),
            "step,size,ms\n"
            "tile_16,1000,0.1\n"
            "cublas,7,0.3333333333333333\n"
            "none,-1,\n");
}

TEST(Table, QuotesWhatCsvCouldMisread) {
  table rows({"a,b", "c"});
  rows.add({"say \"x\"", "two\nlines"});
  EXPECT_EQ(rows.csv(), "\"a,b\",c\n\"say \"\"x\"\"\",\"two\nlines\"\n");
}

TEST(Table, RefusesWhatIsNoTable) {
  EXPECT_THROW(table({}), lab::invalid_input);
  EXPECT_THROW(table({"a", "b", "a"}), lab::invalid_input);
  table rows({"a", "b"});
  EXPECT_THROW(rows.add({1.0}), lab::invalid_input);
  EXPECT_THROW(rows.add({1.0, 2.0, 3.0}), lab::invalid_input);
  EXPECT_TRUE(rows.rows().empty());
}

TEST(Table, FindsCellsByName) {
  EXPECT_EQ(sizes().at(1, "size"), cell(std::int64_t{7}));
  EXPECT_THROW(sizes().at(1, "Size"), lab::invalid_input);
  EXPECT_THROW(sizes().at(3, "size"), lab::invalid_input);
}

TEST(WriteCsv, WritesTheWholeFileOrNone) {
  const auto folder = std::filesystem::temp_directory_path() / "lab_table_test";
  std::filesystem::create_directories(folder);
  const auto path = folder / "rows.csv";
  lab::write_csv(sizes(), path);
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), sizes().csv());
  EXPECT_THROW(lab::write_csv(sizes(), folder / "missing" / "rows.csv"), lab::invalid_input);
  EXPECT_FALSE(std::filesystem::exists(folder / "missing"));
  std::filesystem::remove_all(folder);
}

}  // namespace
