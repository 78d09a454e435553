// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime.h>

namespace cub {

/// Device memory with CUB's interface. Nothing is kept for later: each block of memory comes from
/// cudaMalloc and goes back to cudaFree, so that its end and its leaks are watched.
struct CachingDeviceAllocator {
  static constexpr int INVALID_DEVICE_ORDINAL = -1;

  explicit CachingDeviceAllocator(unsigned = 8, unsigned = 3, unsigned = 7, std::size_t = 0,
                                  bool = false, bool = false) {}
  explicit CachingDeviceAllocator(bool, bool = false) {}

  cudaError_t DeviceAllocate(int device, void** pointer, std::size_t bytes,
                             cudaStream_t = nullptr) {
    return on_device(device, [&] { return cudaMalloc(pointer, bytes); });
  }
  cudaError_t DeviceAllocate(void** pointer, std::size_t bytes, cudaStream_t = nullptr) {
    return cudaMalloc(pointer, bytes);
  }
  cudaError_t DeviceFree(int device, void* pointer) {
    return on_device(device, [&] { return cudaFree(pointer); });
  }
  cudaError_t DeviceFree(void* pointer) { return cudaFree(pointer); }
  cudaError_t FreeAllCached() { return cudaSuccess; }
  cudaError_t SetMaxCachedBytes(std::size_t) { return cudaSuccess; }

 private:
  template <class Work>
  static cudaError_t on_device(int device, Work work) {
    int before = 0;
    cudaError_t status = cudaGetDevice(&before);
    if (status == cudaSuccess && device != INVALID_DEVICE_ORDINAL) status = cudaSetDevice(device);
    if (status == cudaSuccess) status = work();
    cudaSetDevice(before);
    return status;
  }
};

}  // namespace cub
