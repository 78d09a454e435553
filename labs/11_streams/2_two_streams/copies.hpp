// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 11.2 two_streams: how long the copies alone take, to compare with. Host code, given.
#pragma once

#include <cstddef>

namespace lab::two_streams {

struct copy_times {
  double up_ms = 0;    ///< a and b to the device
  double down_ms = 0;  ///< c back from the device
};

/// Copies of n elements in pieces of `chunk`, as process() copies them, but without a kernel and
/// in one direction at a time. The median of `repeats`, after a warm-up. n and chunk are positive.
copy_times measure_copies(std::size_t n, std::size_t chunk, int repeats);

}  // namespace lab::two_streams
