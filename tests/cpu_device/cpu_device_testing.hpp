// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the tests of the CPU device share.
#pragma once

#include <cpu_device.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "device_array.hpp"

namespace cpu_device_testing {

/// Under QEMU, as another processor's program (.ci/nights/aarch64).
inline bool is_emulated() { return std::getenv("QEMU_LD_PREFIX") != nullptr; }

using device_memory::device_array;

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
