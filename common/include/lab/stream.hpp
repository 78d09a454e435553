// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A stream that destroys itself, for the exercises after 11.1, which teaches it.
#pragma once

#include <cuda_runtime.h>

#include "lab/cuda_check.hpp"

namespace lab {

/// Owns a stream of the device that was current when it was made. The default stream's work does
/// not wait for it, nor it for that work. Its destructor waits for its own work first
/// (cudaStreamDestroy alone does not), so that objects declared before it outlive what the device
/// still does. Throws cuda_error if it cannot be made.
class stream {
 public:
  stream() { CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~stream() {
    CUDA_CHECK_NOTHROW(cudaStreamSynchronize(stream_));
    CUDA_CHECK_NOTHROW(cudaStreamDestroy(stream_));
  }
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace lab
