// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/report.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "lab/errors.hpp"

namespace lab {
namespace {

/// Four significant digits, never as 1e+03.
std::string short_number(double value) {
  int decimals = 3;
  for (double limit = 10; limit <= 1000 && value >= limit; limit *= 10) --decimals;
  if (value > 0 && value < 0.1) decimals = 5;
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

/// 3.95e9 pixels as "3.950 G pixels".
std::string with_prefix(double value, const std::string& item_name) {
  constexpr std::array<const char*, 5> kPrefixes = {"", "k ", "M ", "G ", "T "};
  std::size_t prefix = 0;
  while (value >= 1000 && prefix + 1 < kPrefixes.size()) {
    value /= 1000;
    ++prefix;
  }
  return short_number(value) + " " + kPrefixes[prefix] + item_name;
}

std::string gigabytes(double bytes_per_second) {
  return short_number(bytes_per_second / 1e9) + " GB/s";
}

std::string percent(double fraction) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), "%.0f %%", 100 * fraction);
  return text.data();
}

}  // namespace

timing summarize(std::span<const float> milliseconds) {
  if (milliseconds.empty()) throw invalid_input("there are no measurements to summarize");
  std::vector<float> sorted(milliseconds.begin(), milliseconds.end());
  std::ranges::sort(sorted);
  const std::size_t n = sorted.size();
  const double upper = sorted[n / 2];
  const double lower = sorted[(n - 1) / 2];
  return {(lower + upper) / 2,
          sorted.front(),
          sorted.back(),
          n,
          {milliseconds.begin(), milliseconds.end()}};
}

std::string human_bytes(double bytes) {
  constexpr std::array<const char*, 6> kUnits = {" bytes", " KiB", " MiB", " GiB", " TiB", " PiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), unit == 0 || bytes >= 100 ? "%.0f" : "%.3g", bytes);
  return std::string(text.data()) + (unit == 0 && bytes == 1 ? " byte" : kUnits[unit]);
}

std::string describe_kernel(const timing& time, const kernel_work& work,
                            std::optional<double> copy_bandwidth, bool cpu_device) {
  if (!(time.median_ms > 0)) return work.name + ": not timed (the exercise reported 0 ms)";
  std::string text = work.name + ": " + short_number(time.median_ms) + " ms";
  if (time.runs > 1)
    text += " (median of " + std::to_string(time.runs) + ", " + short_number(time.min_ms) + " to " +
            short_number(time.max_ms) + ")";
  if (cpu_device) return text + " (CPU device: not a GPU time)";
  const double seconds = time.median_ms / 1000;
  if (work.items > 0) text += ", " + with_prefix(work.items / seconds, work.item_name) + "/s";
  if (work.bytes > 0) {
    text += ", " + gigabytes(work.bytes / seconds);
    if (copy_bandwidth && *copy_bandwidth > 0) {
      text += ": " + percent(work.bytes / seconds / *copy_bandwidth) +
              " of this device's copy bandwidth (" + gigabytes(*copy_bandwidth) + ")";
    }
  }
  return text;
}

std::string describe_library(const std::string& name, double library_ms, const timing& ours) {
  return name + ": " + short_number(library_ms) + " ms; this kernel reaches " +
         percent(library_ms / ours.median_ms) + " of its speed";
}

}  // namespace lab
