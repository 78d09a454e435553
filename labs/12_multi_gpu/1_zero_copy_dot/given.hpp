// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 12.1 zero_copy_dot: what zero_copy_dot.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "lab/block_sum.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/host_threads.hpp"
#include "lab/launch_limits.hpp"
#include "lab/refuse_if.hpp"
#include "lab/staging.hpp"
#include "lab/timer.hpp"
#include "zero_copy_dot.hpp"

namespace lab::zero_copy_dot {

constexpr unsigned kThreads = 256;  // a power of two: the tree halves it
constexpr unsigned kInFlight = 4;   // products of a thread that are under way at the same time

// --- all steps: the kernel -----------------------------------------------------------------------
// It cannot tell where a and b are. Over a bus that is about a hundred times slower than device
// memory it must read each element once, with coalesced accesses and many loads in flight.

/// Given. Four blocks per multiprocessor: with a thousand threads there, and eight loads per
/// thread, the bus always has enough to do.
inline unsigned blocks_for(std::size_t n) {
  const std::size_t most = std::size_t{4} * device_limit(cudaDevAttrMultiProcessorCount);
  return static_cast<unsigned>(std::min((n + kThreads - 1) / kThreads, most));
}

/// Given: the host's part, in double.
inline double sum_of(std::span<const float> partial) {
  return std::accumulate(partial.begin(), partial.end(), 0.0);
}

inline void require_good(std::span<const float> a, std::span<const float> b) {
  refuse_if(a.size() != b.size(), "zero_copy_dot: a has ", a.size(), " elements and b has ",
            b.size(), "; they must be equally long");
}

inline void require_mappable() {
  int device = 0, can_map = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&can_map, cudaDevAttrCanMapHostMemory, device));
  if (can_map == 0) throw not_possible("this device cannot map host memory");
}

// --- zero_copy -----------------------------------------------------------------------------------

struct free_pinned {
  void operator()(float* memory) const noexcept { CUDA_CHECK_NOTHROW(cudaFreeHost(memory)); }
};
using pinned_floats = std::unique_ptr<float[], free_pinned>;

/// Pinned memory that is mapped: each side has a pointer to it, and the host's owns it.
struct mapped_floats {
  pinned_floats host;
  float* device = nullptr;
};

// --- staged --------------------------------------------------------------------------------------

/// A lane for each of the host threads that share the pieces of n elements.
inline std::vector<std::unique_ptr<staging_lane>> lanes_for(std::size_t n) {
  const std::size_t threads = staging_threads(n), pieces = staging_pieces(n);
  std::vector<std::unique_ptr<staging_lane>> lanes;
  for (std::size_t k = 0; k < threads; ++k)
    lanes.push_back(std::make_unique<staging_lane>((pieces - k + threads - 1) / threads,
                                                   blocks_for(kStagingPiece)));
  return lanes;
}

}  // namespace lab::zero_copy_dot
