// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Owners of texture objects and CUDA arrays, and how long a one-dimensional texture may be.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <utility>

#include "lab/cuda_check.hpp"

namespace lab {

/// Owns a texture object. Create it after the memory that it reads, so that it is destroyed first.
class texture_view {
 public:
  texture_view(const cudaResourceDesc& memory, const cudaTextureDesc& description) {
    CUDA_CHECK(cudaCreateTextureObject(&object_, &memory, &description, nullptr));
  }
  texture_view(texture_view&& other) noexcept : object_(std::exchange(other.object_, 0)) {}
  texture_view& operator=(texture_view&&) = delete;
  ~texture_view() {
    if (object_ != 0) CUDA_CHECK_NOTHROW(cudaDestroyTextureObject(object_));
  }
  /// The argument for a kernel: a number that can be copied, and that owns nothing.
  cudaTextureObject_t object() const { return object_; }

 private:
  cudaTextureObject_t object_ = 0;
};

struct free_array {
  void operator()(cudaArray_t array) const noexcept { CUDA_CHECK_NOTHROW(cudaFreeArray(array)); }
};
/// Owns an array from cudaMallocArray; get() is the cudaArray_t.
using array_owner = std::unique_ptr<cudaArray, free_array>;

/// The most floats that a texture over linear memory can have on the current device. (Nor more than
/// the index of tex1Dfetch, an int, can count.)
inline std::size_t most_texels_in_linear_memory() {
  const cudaChannelFormatDesc a_float = cudaCreateChannelDesc<float>();
  int device = 0;
  std::size_t most = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetTexture1DLinearMaxWidth(&most, &a_float, device));
  return std::min(most, std::size_t{std::numeric_limits<int>::max()});
}

/// The most texels that a one-dimensional CUDA array can have on the current device.
inline std::size_t most_texels_in_an_array() {
  int device = 0, most = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxTexture1DWidth, device));
  return static_cast<std::size_t>(most);
}

}  // namespace lab
