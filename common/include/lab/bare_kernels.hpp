// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The times of kernels that only move data: limits for kernels that also compute something.
#pragma once

#include <cstddef>
#include <optional>

namespace lab {

/// The median time of a kernel that reads this many bytes of device memory, 16 in each load, and
/// keeps nothing. No kernel that needs all of them once can be faster. Nothing on the CPU device,
/// where times say nothing about a GPU, and for fewer than 16 bytes.
std::optional<float> reading_milliseconds(std::size_t bytes);

/// The median time of the barest kernel that adds two vectors of n floats: float4, one thread for
/// each, no loop and no tail (n is rounded down to a multiple of 4). Nothing on the CPU device, and
/// for fewer than 4 floats.
std::optional<float> bare_add_milliseconds(std::size_t n);

}  // namespace lab
