// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Measured times as text.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lab {

/// Repeated measurements of one thing.
struct timing {
  double median_ms = 0;
  double min_ms = 0;
  double max_ms = 0;
  std::size_t runs = 0;
  std::vector<float> samples_ms{};  ///< in the order of the runs
};

/// Median (of an even number: the mean of the middle two), smallest and largest.
timing summarize(std::span<const float> milliseconds);

/// What one run of a kernel processes, for its rates; a 0 is left out of the report.
struct kernel_work {
  double bytes = 0;             ///< read plus written, as the algorithm needs them
  double items = 0;             ///< whatever else is counted, …
  std::string item_name{};      ///< … and its plural: "pixels", "floating-point operations"
  std::string name = "kernel";  ///< of what was timed
};

/// `1.5 GiB`, `12 KiB`, `7 bytes`.
std::string human_bytes(double bytes);

/// One line with a kernel's time and, on a GPU, its rates:
/// `kernel: 0.102 ms (median of 20, 0.101 to 0.110), 3947 GB/s: 92 % of this device's copy
/// bandwidth (4290 GB/s)`. On the CPU device the time alone, marked as not a GPU's.
/// `copy_bandwidth` is in bytes per second.
std::string describe_kernel(const timing& time, const kernel_work& work,
                            std::optional<double> copy_bandwidth, bool cpu_device);

/// `cublasSdot: 0.512 ms; this kernel reaches 91 % of its speed`.
std::string describe_library(const std::string& name, double library_ms, const timing& ours);

}  // namespace lab
