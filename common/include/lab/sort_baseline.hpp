// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The library's time for sorting pairs: a mark to compare with.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "lab/key_value.hpp"

namespace lab {

/// The median time of CUB for sorting pairs of a key and a value that are in device memory already:
/// of DeviceRadixSort for one array, of DeviceSegmentedSort for several. Without values, of the
/// keys alone. Nothing on the CPU device, where there is no such mark, without keys, and for more
/// than an int can count.
std::optional<float> library_sort_milliseconds(std::span<const std::uint32_t> keys,
                                               std::span<const std::uint32_t> values, batch arrays);

}  // namespace lab
