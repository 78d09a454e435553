// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// An event that ends by itself, for the exercises after 02.1, which is about it.
#pragma once

#include <cuda_runtime.h>

#include "lab/cuda_check.hpp"

namespace lab {

/// Owns a mark that is put into a stream of the device that was current when it was made, for
/// another stream or the host to wait for; who waits before it was ever recorded goes on at once.
/// It takes no time: an event_timer does. Throws cuda_error if it cannot be made.
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

}  // namespace lab
