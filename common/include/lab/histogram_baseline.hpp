// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The library's time for a histogram of bytes: a mark to compare with.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace lab {

/// The median time of CUB's DeviceHistogram::HistogramEven for 256 bins of bytes that are in device
/// memory already. Nothing on the CPU device, where there is no such mark, without bytes, and for
/// more of them than an int can count.
std::optional<float> library_histogram_milliseconds(std::span<const std::uint8_t> bytes);

}  // namespace lab
