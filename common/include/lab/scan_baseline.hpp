// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The library's time for a scan of whole numbers: a mark to compare with.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace lab {

/// The median time of CUB's DeviceScan::ExclusiveSum for values that are in device memory already
/// (an inclusive scan moves the same bytes). Nothing on the CPU device, where there is no such
/// mark, without values, and for more of them than an int can count.
std::optional<float> library_scan_milliseconds(std::span<const std::uint32_t> values);

}  // namespace lab
