// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 10.4 histogram: what histogram.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "histogram.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"
#include "lab/timer.hpp"

namespace lab::histogram {

struct grid {
  unsigned blocks;
  unsigned threads;  // in a block
};

/// `threads`, or the block size that is fastest for the step where that is 0.
inline unsigned block_size(unsigned threads, unsigned best) {
  const unsigned limit = device_limit(cudaDevAttrMaxThreadsPerBlock);
  refuse_if(threads > limit, "histogram: ", threads,
            " threads do not fit into a block: this device's have at most ", limit);
  return threads != 0 ? threads : best;
}

/// Two blocks for each multiprocessor: what the book found best on its GPU.
inline grid grid_of_the_book(unsigned threads) {
  return {2 * device_limit(cudaDevAttrMultiProcessorCount), block_size(threads, 256)};
}

}  // namespace lab::histogram
