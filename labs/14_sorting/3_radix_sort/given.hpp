// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 14.3 radix_sort: what radix_sort.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/sort.h>
#include <thrust/system_error.h>
#include <thrust/transform.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"
#include "radix_sort.hpp"

namespace lab::radix_sort {

constexpr unsigned kDigitBits = 8;
constexpr unsigned kDigits = 1U << kDigitBits;
constexpr unsigned kThreads = 256;
constexpr unsigned kWarps = kThreads / 32;
constexpr unsigned kItems = 16;  // keys of a thread in a tile
constexpr unsigned kTile = kThreads * kItems;
constexpr unsigned kAllLanes = 0xFFFFFFFFU;
static_assert(kDigits == kThreads, "thread d looks after digit d");

/// The tiles [first, last) of a block.
struct tiles {
  std::size_t first, last;
};
__device__ inline tiles tiles_of_block(std::size_t n) {
  const std::size_t all = (n + kTile - 1) / kTile;
  return {all * blockIdx.x / gridDim.x, all * (blockIdx.x + std::size_t{1}) / gridDim.x};
}

}  // namespace lab::radix_sort
