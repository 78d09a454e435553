// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 12.3 portable_pinned: what portable_pinned.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <list>
#include <numeric>
#include <utility>
#include <vector>

#include "dot_kernel.hpp"  // sums_of_blocks(), the kernel of 12.1
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/stream.hpp"
#include "lab/timer.hpp"
#include "parts.hpp"  // parts_of(), in_a_thread_each(), as in 12.2
#include "portable_pinned.hpp"

namespace lab::portable_pinned {

/// Puts the kernel into a stream of the current device, whose pointers these have to be.
inline void launch(unsigned blocks, const float* a, const float* b, float* partial, std::size_t n,
                   cudaStream_t stream) {
  sums_of_blocks<<<blocks, kThreads, 0, stream>>>(a, b, partial, n);
  CUDA_CHECK(cudaGetLastError());
}

/// Given: a part, with memory, clock and stream of the device that is current when it is made.
struct device_part : part {
  explicit device_part(const part& its) : part(its), a(size), b(size), partial(blocks) {}
  device_buffer<float> a, b, partial;
  event_timer kernel;
  stream queue;  // destroyed first: pending work ends before the memory is freed
};

}  // namespace lab::portable_pinned
