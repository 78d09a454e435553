// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/chart.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <regex>
#include <string>
#include <vector>

#include "lab/errors.hpp"

namespace {

using lab::chart;

struct place {
  double x, y;
};

/// Where the points of all lines are drawn.
std::vector<place> marks(const std::string& svg) {
  static const std::regex kMark("<circle cx=\"([^\"]+)\" cy=\"([^\"]+)\"");
  std::vector<place> result;
  for (std::sregex_iterator it(svg.begin(), svg.end(), kMark), end; it != end; ++it)
    result.push_back({std::stod((*it)[1]), std::stod((*it)[2])});
  return result;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(Svg, PutsPointsInProportion) {
  const auto p = marks(lab::svg({.title = "t",
                                 .x_label = "x",
                                 .y_label = "y",
                                 .lines = {{"a", {{0, 0}, {10, 100}, {5, 25}}}}}));
  ASSERT_EQ(p.size(), 3u);
  EXPECT_LT(p[0].x, p[1].x);  // x goes to the right, y upwards
  EXPECT_GT(p[0].y, p[1].y);
  EXPECT_NEAR(p[2].x, (p[0].x + p[1].x) / 2, 0.01);
  EXPECT_NEAR(p[2].y, p[0].y + (p[1].y - p[0].y) / 4, 0.01);
}

TEST(Svg, PutsFactorsAtEqualDistancesOnLogarithmicAxes) {
  const auto p = marks(lab::svg({.title = "t",
                                 .x_label = "x",
                                 .y_label = "y",
                                 .log_x = true,
                                 .log_y = true,
                                 .lines = {{"a", {{16, 1e3}, {64, 1e5}, {256, 1e7}}}}}));
  ASSERT_EQ(p.size(), 3u);
  EXPECT_NEAR(p[1].x - p[0].x, p[2].x - p[1].x, 0.01);
  EXPECT_NEAR(p[1].y - p[0].y, p[2].y - p[1].y, 0.01);
}

TEST(Svg, StaysInsideItsAxes) {
  for (const bool logarithmic : {false, true}) {
    const auto p = marks(lab::svg({.title = "t",
                                   .x_label = "x",
                                   .y_label = "y",
                                   .log_x = logarithmic,
                                   .log_y = logarithmic,
                                   .lines = {{"a", {{0.003, 7e-9}, {17, 3}}}, {"b", {{4, 812}}}}}));
    ASSERT_EQ(p.size(), 3u);
    for (const place at : p) {
      EXPECT_GE(at.x, 90);
      EXPECT_LE(at.x, 620);
      EXPECT_GE(at.y, 50);
      EXPECT_LE(at.y, 440);
    }
  }
}

TEST(Svg, LeavesOutWhatHasNoPlace) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  chart what{.title = "t",
             .x_label = "x",
             .y_label = "y",
             .lines = {{"a", {{1, 2}, {kNaN, 1}, {2, kInfinity}, {0, 3}, {3, -1}}}}};
  EXPECT_EQ(marks(lab::svg(what)).size(), 3u);
  what.log_x = what.log_y = true;
  EXPECT_EQ(marks(lab::svg(what)).size(), 1u);
}

TEST(Svg, NamesItsLinesAndAxesAsTheyAre) {
  const std::string text = lab::svg({.title = "a < b & c",
                                     .x_label = "size",
                                     .y_label = "GB/s",
                                     .lines = {{"\"one\"", {{1, 1}}}, {"two", {{1, 2}}}}});
  EXPECT_EQ(count(text, ">a &lt; b &amp; c</text>"), 1u);
  EXPECT_EQ(count(text, ">&quot;one&quot;</text>"), 1u);
  EXPECT_EQ(count(text, ">two</text>"), 1u);
  EXPECT_EQ(count(text, ">size</text>"), 1u);
  EXPECT_EQ(count(text, ">GB/s</text>"), 1u);
  EXPECT_EQ(count(text, "<polyline"), 2u);
}

TEST(Svg, RefusesAChartWithoutPoints) {
  EXPECT_THROW(lab::svg({.title = "t", .x_label = "x", .y_label = "y"}), lab::invalid_input);
  EXPECT_THROW(lab::svg({.title = "t",
                         .x_label = "x",
                         .y_label = "y",
                         .log_x = true,
                         .lines = {{"a", {{0, 1}}}}}),
               lab::invalid_input);
}

TEST(LinesOf, MakesALineOfEachName) {
  lab::table rows({"step", "size", "ms"});
  rows.add({"a", std::int64_t{1}, 0.5});
  rows.add({"b", std::int64_t{1}, 0.25});
  rows.add({"a", std::int64_t{2}, 0.75});
  const auto lines = lab::lines_of(rows, "step", "size", "ms");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].name, "a");
  EXPECT_EQ(lines[0].points, (std::vector<std::pair<double, double>>{{1, 0.5}, {2, 0.75}}));
  EXPECT_EQ(lines[1].name, "b");
  EXPECT_EQ(lines[1].points, (std::vector<std::pair<double, double>>{{1, 0.25}}));
  EXPECT_THROW(lab::lines_of(rows, "step", "size", "GB/s"), lab::invalid_input);
  EXPECT_THROW(lab::lines_of(rows, "size", "step", "ms"), lab::invalid_input);
}

}  // namespace
