// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A PNG file as bytes, for those who write one or take one apart.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/bitmap.hpp"

namespace lab {

/// The picture as a PNG file in memory: 8-bit RGBA.
std::vector<std::uint8_t> encode_png(const bitmap& picture);

}  // namespace lab
