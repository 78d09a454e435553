// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A buffer of OpenGL that CUDA may use: owners that register and map it. (You write them in 09.1.)
#pragma once

#include <cuda_gl_interop.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <string>
#include <utility>

#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"
#include "lab/opengl.hpp"

namespace lab {

/// The buffer is registered with CUDA while this lives, for kernels that write all of it: what was
/// in it is lost whenever it is mapped. Make it after the buffer, so that it goes before it.
class registered_buffer {
 public:
  explicit registered_buffer(const pixel_buffer& buffer) {
    CUDA_CHECK(cudaGraphicsGLRegisterBuffer(&resource_, buffer.name(),
                                            cudaGraphicsRegisterFlagsWriteDiscard));
  }
  registered_buffer(const registered_buffer&) = delete;
  registered_buffer& operator=(const registered_buffer&) = delete;
  ~registered_buffer() { CUDA_CHECK_NOTHROW(cudaGraphicsUnregisterResource(resource_)); }

  cudaGraphicsResource_t resource() const noexcept { return resource_; }

 private:
  cudaGraphicsResource_t resource_ = nullptr;
};

/// The buffer belongs to CUDA while this lives, or until unmap(); after it to OpenGL again.
template <class T>
class mapped_buffer {
 public:
  /// Throws invalid_input unless the buffer has room for `count` elements.
  mapped_buffer(const registered_buffer& buffer, std::size_t count) : resource_(buffer.resource()) {
    CUDA_CHECK(cudaGraphicsMapResources(1, &resource_));
    try {
      std::size_t bytes = 0;
      void* memory = nullptr;
      CUDA_CHECK(cudaGraphicsResourceGetMappedPointer(&memory, &bytes, resource_));
      if (bytes < count * sizeof(T))
        throw invalid_input("a buffer of OpenGL has " + std::to_string(bytes) + " bytes, and " +
                            std::to_string(count * sizeof(T)) + " are needed");
      data_ = static_cast<T*>(memory);
    } catch (...) {
      CUDA_CHECK_NOTHROW(cudaGraphicsUnmapResources(1, &resource_));
      throw;
    }
  }
  mapped_buffer(const mapped_buffer&) = delete;
  mapped_buffer& operator=(const mapped_buffer&) = delete;
  ~mapped_buffer() {
    if (data_ != nullptr) CUDA_CHECK_NOTHROW(cudaGraphicsUnmapResources(1, &resource_));
  }

  /// Device memory, for kernels of the default stream.
  T* data() const noexcept { return data_; }

  /// OpenGL's again: what it draws from now on waits for the kernels that were launched. The
  /// pointer is no longer valid.
  void unmap() {
    data_ = nullptr;
    CUDA_CHECK(cudaGraphicsUnmapResources(1, &resource_));
  }

 private:
  cudaGraphicsResource_t resource_;
  T* data_ = nullptr;
};

}  // namespace lab
