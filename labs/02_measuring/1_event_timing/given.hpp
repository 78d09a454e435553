// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 02.1 event_timing: what event_timing.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include "event_timing.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/timer.hpp"

namespace lab::event_timing {

/// Does nothing for as many cycles of the device's clock, and stores how many it were. (Given.)
__global__ void let_pass(long long cycles, long long* counted) {
  if (threadIdx.x == 0) {
    const long long begin = clock64();
    long long passed = 0;
    while (passed < cycles) passed = clock64() - begin;
    *counted = passed;
  }
}

inline void require_possible(long long cycles) {
  refuse_if(cycles < 0 || cycles > kMostCycles, "event_timing: a kernel cannot let ", cycles,
            " cycles pass; it must be 0 to ", kMostCycles);
}

}  // namespace lab::event_timing
