// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 21.3 nvtx_timeline: the intervals of a timeline, from a file. Host code, given.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/errors.hpp"
#include "nvtx_timeline.hpp"

namespace lab::nvtx_timeline {
namespace detail {

inline std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

/// The cells of a line of CSV; quotes keep commas together.
inline std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      cells.emplace_back();
    else if (c != '\r')
      cells.back() += c;
  }
  return cells;
}

/// What follows `"name":` in a line of JSON, without quotes; empty where it is not there.
inline std::string_view value_of(std::string_view line, const std::string& name) {
  const std::size_t at = line.find("\"" + name + "\":");
  if (at == std::string_view::npos) return {};
  std::string_view rest = line.substr(at + name.size() + 3);
  if (rest.starts_with('"')) {
    rest.remove_prefix(1);
    return rest.substr(0, rest.find('"'));
  }
  return rest.substr(0, rest.find_first_of(",}"));
}

/// From begin and length, in nanoseconds.
inline interval interval_of(activity kind, double begin, double length) {
  return {kind, std::llround(begin), std::llround(begin + length)};
}

/// A line of the CPU device's trace.
inline std::optional<interval> from_trace(std::string_view line) {
  const std::string_view kind = value_of(line, "cat"), name = value_of(line, "name");
  const auto begin = number(value_of(line, "ts")), length = number(value_of(line, "dur"));
  if (!begin || !length) return std::nullopt;
  if (kind == "kernel") return interval_of(activity::kernel, 1e3 * *begin, 1e3 * *length);
  if (name == "copy host to device")
    return interval_of(activity::copy_to_device, 1e3 * *begin, 1e3 * *length);
  if (name == "copy device to host")
    return interval_of(activity::copy_to_host, 1e3 * *begin, 1e3 * *length);
  return std::nullopt;
}

}  // namespace detail

/// Kernels and copies between host and device in a file: what `nsys stats --report cuda_gpu_trace
/// --format csv` prints, or the CPU device's trace. Throws invalid_input, with a sentence, for a
/// file that is neither, and for one without any.
inline std::vector<interval> read_intervals(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw invalid_input("--intervals: cannot read " + path);
  std::vector<interval> found;
  std::vector<std::string> names;  // of the columns of CSV
  const auto column = [&](std::string_view name) {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i] == name) return i;
    return names.size();
  };
  std::string line;
  bool is_trace = false;
  while (std::getline(file, line)) {
    if (line.starts_with("{\"traceEvents\"")) is_trace = true;
    if (is_trace) {
      if (const auto one = detail::from_trace(line)) found.push_back(*one);
      continue;
    }
    const std::vector<std::string> cells = detail::cells_of(line);
    if (names.empty()) {  // nsys says other things first
      if (cells[0].starts_with("Start (ns)")) names = cells;
      continue;
    }
    const std::size_t start = 0, duration = column("Duration (ns)"), name = column("Name");
    if (duration >= cells.size() || name >= cells.size()) continue;
    const auto begin = detail::number(cells[start]), length = detail::number(cells[duration]);
    if (!begin || !length)
      throw invalid_input("--intervals: " + path + " has \"" + line.substr(0, 60) +
                          "\" where times belong");
    const std::string& operation = cells[name];
    if (operation.find("Host-to-Device") != std::string::npos)
      found.push_back(detail::interval_of(activity::copy_to_device, *begin, *length));
    else if (operation.find("Device-to-Host") != std::string::npos)
      found.push_back(detail::interval_of(activity::copy_to_host, *begin, *length));
    else if (!operation.starts_with("[CUDA"))  // [CUDA memset] and the like
      found.push_back(detail::interval_of(activity::kernel, *begin, *length));
  }
  if (names.empty() && !is_trace)
    throw invalid_input("--intervals: " + path +
                        " is neither the CSV of `nsys stats --report cuda_gpu_trace` nor a trace "
                        "of the CPU device");
  if (found.empty()) throw invalid_input("--intervals: " + path + " has no kernels and copies");
  return found;
}

}  // namespace lab::nvtx_timeline
