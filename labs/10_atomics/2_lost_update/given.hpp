// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 10.2 lost_update: what lost_update.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"
#include "lost_update.hpp"

namespace lab::lost_update {

inline void require_good(std::span<const turn> schedule, unsigned threads) {
  refuse_if(threads == 0 || threads > kMostThreads, "lost_update: a replay has 1 to ", kMostThreads,
            " threads, not ", threads);
  for (const turn& now : schedule)
    refuse_if(now.thread >= threads, "lost_update: it is the turn of thread ", now.thread,
              ", and there are only ", threads, ", which are counted from 0");
}

inline void require_possible(unsigned blocks, unsigned threads) {
  require_at_most(cudaDevAttrMaxGridDimX, blocks, "blocks");
  require_at_most(cudaDevAttrMaxThreadsPerBlock, threads, "threads in a block");
}

}  // namespace lab::lost_update
