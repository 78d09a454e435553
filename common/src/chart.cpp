// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/chart.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>

#include "lab/atomic_file.hpp"
#include "lab/errors.hpp"

namespace lab {
namespace {

// Pixels.
constexpr double kWidth = 800, kHeight = 500;
constexpr double kLeft = 90, kRight = 620, kTop = 50,
                 kBottom = 440;  // the axes; names to the right

// Told apart by people who see colours differently, too (after Okabe and Ito), and by marks.
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                    "#e69f00", "#56b4e9", "#000000"};
constexpr std::size_t kColourCount = std::size(kColours);

std::string number(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

/// From values to pixels along one direction.
struct axis {
  bool logarithmic;
  double low, high;   // of the values, or of their logarithms to base 10
  double begin, end;  // in pixels
  std::vector<double> ticks = {};

  double position(double value) const {
    const double v = logarithmic ? std::log10(value) : value;
    return begin + (v - low) / (high - low) * (end - begin);
  }
};

/// Round numbers (1, 2 or 5 times a power of ten) about a sixth of the range apart, or the powers
/// of ten; the range grows to the ticks at its ends.
axis make_axis(bool logarithmic, const std::vector<double>& values, double begin, double end) {
  axis a{logarithmic, 0, 0, begin, end};
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double value : values) {
    const double v = logarithmic ? std::log10(value) : value;
    low = std::min(low, v), high = std::max(high, v);
  }
  if (!logarithmic) low = std::min(low, 0.0), high = std::max(high, 0.0);  // lengths compare
  if (low == high) low -= 0.5, high += 0.5;
  double step = 1;
  if (!logarithmic || high - low < 1) {
    const double rough = (high - low) / 6;
    const double power = std::pow(10, std::floor(std::log10(rough)));
    const double digits = rough / power;
    step = power * (digits <= 1 ? 1 : digits <= 2 ? 2 : digits <= 5 ? 5 : 10);
  } else {
    step = std::max(1.0, std::ceil((high - low) / 8));
  }
  a.low = std::floor(low / step) * step;
  a.high = std::ceil(high / step) * step;
  for (double tick = a.low; tick <= a.high + step / 2; tick += step)
    a.ticks.push_back(logarithmic ? std::pow(10, tick) : std::fabs(tick) < step / 2 ? 0 : tick);
  return a;
}

std::string line_between(double x1, double y1, double x2, double y2, const char* colour) {
  return "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) +
         "\" y2=\"" + number(y2) + "\" stroke=\"" + colour + "\"/>\n";
}

std::string text_at(double x, double y, const std::string& text, const std::string& more = {}) {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\"" + more + ">" + escaped(text) +
         "</text>\n";
}

}  // namespace

std::vector<chart_line> lines_of(const table& rows, const std::string& line, const std::string& x,
                                 const std::string& y) {
  const auto value_of = [&](std::size_t row, const std::string& column) {
    const cell& value = rows.at(row, column);
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(&value)) return *real;
    throw invalid_input("column '" + column + "' holds '" + std::get<std::string>(value) +
                        "', which is no number");
  };
  std::vector<chart_line> result;
  for (std::size_t row = 0; row < rows.rows().size(); ++row) {
    const cell& value = rows.at(row, line);
    const std::string name = std::holds_alternative<std::string>(value)
                                 ? std::get<std::string>(value)
                                 : number(value_of(row, line));
    auto found = std::find_if(result.begin(), result.end(),
                              [&](const chart_line& l) { return l.name == name; });
    if (found == result.end()) found = result.insert(result.end(), chart_line{name, {}});
    found->points.emplace_back(value_of(row, x), value_of(row, y));
  }
  return result;
}

std::string svg(const chart& what) {
  std::vector<double> xs, ys;
  const auto shown = [&](const std::pair<double, double>& point) {
    const auto [x, y] = point;
    return std::isfinite(x) && std::isfinite(y) && (!what.log_x || x > 0) && (!what.log_y || y > 0);
  };
  for (const chart_line& line : what.lines) {
    for (const auto& point : line.points) {
      if (!shown(point)) continue;
      xs.push_back(point.first);
      ys.push_back(point.second);
    }
  }
  if (xs.empty())
    throw invalid_input("the chart '" + what.title + "' has no point that could be drawn");
  const axis x = make_axis(what.log_x, xs, kLeft, kRight);
  const axis y = make_axis(what.log_y, ys, kBottom, kTop);

  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + number(kWidth) +
                    " " + number(kHeight) +
                    "\" font-family=\"sans-serif\" font-size=\"13\">\n"
                    "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  out += text_at((kLeft + kRight) / 2, 25, what.title, " text-anchor=\"middle\" font-size=\"16\"");
  for (const double tick : x.ticks) {
    out += line_between(x.position(tick), kTop, x.position(tick), kBottom, "#dddddd");
    out += text_at(x.position(tick), kBottom + 18, number(tick), " text-anchor=\"middle\"");
  }
  for (const double tick : y.ticks) {
    out += line_between(kLeft, y.position(tick), kRight, y.position(tick), "#dddddd");
    out += text_at(kLeft - 8, y.position(tick) + 4, number(tick), " text-anchor=\"end\"");
  }
  out += line_between(kLeft, kBottom, kRight, kBottom, "black");
  out += line_between(kLeft, kTop, kLeft, kBottom, "black");
  out += text_at((kLeft + kRight) / 2, kBottom + 42, what.x_label, " text-anchor=\"middle\"");
  out += text_at(
      20, (kTop + kBottom) / 2, what.y_label,
      " text-anchor=\"middle\" transform=\"rotate(-90 20 " + number((kTop + kBottom) / 2) + ")\"");

  for (std::size_t i = 0; i < what.lines.size(); ++i) {
    const std::string colour = kColours[i % kColourCount];
    std::string points, marks;
    for (const auto& point : what.lines[i].points) {
      if (!shown(point)) continue;
      const std::string px = number(x.position(point.first)), py = number(y.position(point.second));
      points += px + "," + py + " ";
      marks += "<circle cx=\"" + px + "\" cy=\"" + py + "\" r=\"3\" fill=\"" + colour + "\"/>\n";
    }
    // After one round of colours the lines are dashed.
    const std::string dashes = i < kColourCount ? "" : " stroke-dasharray=\"6 4\"";
    out += "<polyline points=\"" + points + "\" fill=\"none\" stroke=\"" + colour +
           "\" stroke-width=\"2\"" + dashes + "/>\n" + marks;
    const double at = kTop + 10 + 20 * static_cast<double>(i);
    out += "<line x1=\"" + number(kRight + 15) + "\" y1=\"" + number(at) + "\" x2=\"" +
           number(kRight + 40) + "\" y2=\"" + number(at) + "\" stroke=\"" + colour +
           "\" stroke-width=\"2\"" + dashes + "/>\n";
    out += text_at(kRight + 46, at + 4, what.lines[i].name);
  }
  return out + "</svg>\n";
}

void write_svg(const chart& what, const std::filesystem::path& path) {
  const std::string text = svg(what);
  atomic_file file(path);
  file.write(text.data(), text.size());
  file.commit();
}

}  // namespace lab
