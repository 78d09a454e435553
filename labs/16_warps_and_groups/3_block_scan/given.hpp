// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.3 block_scan: what block_scan.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <bit>
#include <cstddef>
#include <cstdint>

#include "block_scan.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"

namespace lab::block_scan {

constexpr unsigned kLanes = 32;  // of a warp
constexpr unsigned kAllLanes = 0xFFFF'FFFF;
constexpr unsigned kMostThreads = 1024;

/// Refuses what the contract refuses, and returns the number of rows.
inline unsigned rows_of(std::size_t n, std::size_t row_length, unsigned threads) {
  refuse_if(!std::has_single_bit(threads) || threads < kLanes || threads > kMostThreads,
            "block_scan: blocks of ", threads,
            " threads were asked for; take a power of two from 32 to 1024");
  require_at_most(cudaDevAttrMaxThreadsPerBlock, threads, "threads in a block");
  if (n == 0) return 0;
  refuse_if(row_length == 0 || n % row_length != 0, "block_scan: the number of values, ", n,
            ", is not a multiple of the row length, ", row_length);
  require_at_most(cudaDevAttrMaxGridDimX, n / row_length, "blocks");
  return static_cast<unsigned>(n / row_length);
}

}  // namespace lab::block_scan
