// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the tests of the CPU device share.
#pragma once

#include <cpu_device.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace cpu_device_testing {

/// Device memory with a host value in it; freed at the end of its scope, also after a reset.
template <class T>
class device_array {
 public:
  explicit device_array(const std::vector<T>& host) : size_(host.size()) {
    EXPECT_EQ(cudaMalloc(&data_, size_ * sizeof(T)), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(data_, host.data(), size_ * sizeof(T), cudaMemcpyHostToDevice),
              cudaSuccess);
  }
  device_array(std::size_t n, T value) : device_array(std::vector<T>(n, value)) {}
  ~device_array() { cudaFree(data_); }
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

/// Runs `body` with the threads in forward, reverse and two random orders.
template <class Body>
void in_every_order(Body body) {
  using cpu_device::thread_order;
  const std::pair<thread_order, const char*> orders[] = {{thread_order::forward, "forward"},
                                                         {thread_order::reverse, "reverse"},
                                                         {thread_order::random, "random 1"},
                                                         {thread_order::random, "random 2"}};
  unsigned seed = 0;
  for (const auto& [order, name] : orders) {
    SCOPED_TRACE(name);
    cpu_device::set_thread_order(order, ++seed);
    body();
  }
  cpu_device::set_thread_order(thread_order::forward);
}

/// Runs `launch`, which must be reported and must fail with `error`; returns the report. The
/// device is reset afterwards, as a program would have to.
template <class Launch>
std::string expect_report(Launch launch, cudaError_t error) {
  const std::size_t before = cpu_device::report_count();
  launch();
  EXPECT_EQ(cudaDeviceSynchronize(), error);
  EXPECT_EQ(cpu_device::report_count(), before + 1);
  const std::string text = cpu_device::last_report();
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  return text;
}

}  // namespace cpu_device_testing
