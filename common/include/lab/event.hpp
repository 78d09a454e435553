// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// An owner of an event, for the exercises after 02.1, which introduces events.
#pragma once

#include <cuda_runtime.h>

#include "lab/cuda_check.hpp"

namespace lab {

/// Owns an event of the device that was current when it was made. It can be recorded in streams of
/// that device only. Streams of any device can wait for it; waiting for an event that was never
/// recorded returns at once. It does not measure time: event_timer does.
/// Throws cuda_error if it cannot be made.
class event {
 public:
  event() { CUDA_CHECK(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~event() { CUDA_CHECK_NOTHROW(cudaEventDestroy(event_)); }
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  operator cudaEvent_t() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// `later` waits for all work queued in `earlier` so far. `mark` is of the device of `earlier`.
inline void make_wait(cudaStream_t later, cudaStream_t earlier, const event& mark) {
  CUDA_CHECK(cudaEventRecord(mark, earlier));
  CUDA_CHECK(cudaStreamWaitEvent(later, mark, 0));
}

}  // namespace lab
