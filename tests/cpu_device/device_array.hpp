// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Device memory for tests, in plain CUDA.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace device_memory {

/// Device memory with a host value in it; freed at the end of its scope, also after a reset.
template <class T>
class device_array {
 public:
  explicit device_array(const std::vector<T>& host) : size_(host.size()) {
    EXPECT_EQ(cudaMalloc(&data_, size_ * sizeof(T)), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(data_, host.data(), size_ * sizeof(T), cudaMemcpyHostToDevice),
              cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);  // the values may be on their way
  }
  device_array(std::size_t n, T value) : device_array(std::vector<T>(n, value)) {}
  ~device_array() {
    // A reset has freed it: the next test should not find that error.
    if (cudaFree(data_) != cudaSuccess) (void)cudaGetLastError();
  }
  device_array(const device_array&) = delete;
  device_array& operator=(const device_array&) = delete;

  T* data() const { return data_; }
  std::vector<T> to_host() const {
    std::vector<T> host(size_);
    EXPECT_EQ(cudaMemcpy(host.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost),
              cudaSuccess);
    return host;
  }

 private:
  std::size_t size_;
  T* data_ = nullptr;
};

}  // namespace device_memory
