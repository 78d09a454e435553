// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 10.5 atomic_toolbox: what atomic_toolbox.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

#include "atomic_toolbox.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/time_kernel.hpp"

namespace lab::atomic_toolbox {

constexpr unsigned kThreads = 256;  // of a block
constexpr float kLowest = -std::numeric_limits<float>::infinity();

/// Blocks of kThreads threads for n things, a thread for each.
inline unsigned blocks_for(std::size_t n) {
  return static_cast<unsigned>((n + kThreads - 1) / kThreads);
}

struct managed_free {
  void operator()(unsigned* memory) const noexcept { CUDA_CHECK_NOTHROW(cudaFree(memory)); }
};

}  // namespace lab::atomic_toolbox
