// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 10.3 monte_carlo_pi: what monte_carlo_pi.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"
#include "monte_carlo_pi.hpp"

namespace lab::monte_carlo_pi {

using counter = unsigned long long;  // CUDA's name for 64 bits that atomicAdd takes

constexpr unsigned kLanes = 32;  // of a warp
constexpr unsigned kAllLanes = 0xFFFF'FFFF;

/// As many blocks as n things need or the device runs at once, whichever is less; at least one.
inline unsigned blocks_for(std::uint64_t n, unsigned threads) {
  const std::uint64_t at_once =
      std::uint64_t{device_limit(cudaDevAttrMultiProcessorCount)} *
      std::max(1U, device_limit(cudaDevAttrMaxThreadsPerMultiProcessor) / threads);
  const std::uint64_t needed = n / threads + (n % threads != 0 ? 1 : 0);
  return static_cast<unsigned>(std::clamp<std::uint64_t>(needed, 1, at_once));
}

inline grid grid_for(std::uint64_t points, grid wanted) {
  grid g = wanted;
  if (g.threads == 0) g.threads = 256;
  require_at_most(cudaDevAttrMaxThreadsPerBlock, g.threads, "threads in a block");
  require_at_most(cudaDevAttrMaxGridDimX, g.blocks, "blocks");
  refuse_if(g.threads % kLanes != 0, "monte_carlo_pi: a block of ", g.threads,
            " threads is not made of whole warps; take a multiple of 32");
  if (g.blocks == 0) g.blocks = blocks_for(points, g.threads);
  refuse_if(std::uint64_t{g.blocks} * (g.threads / kLanes) > kMostPoints,
            "monte_carlo_pi: a grid of ", g.blocks, " blocks of ", g.threads,
            " threads has more warps than ", kMostPoints, ", and the counter could not count them");
  return g;
}

}  // namespace lab::monte_carlo_pi
