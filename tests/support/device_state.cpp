// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "device_state.hpp"

#include <cpu_device.h>
#include <cuda_runtime.h>

namespace lab::testing::detail {
namespace {

/// The error that every call returns since a kernel has failed, until its device is reset.
cudaError_t sticky_error() {
  (void)cudaGetLastError();
  (void)cudaDeviceSynchronize();
  (void)cudaGetLastError();
  return cudaDeviceSynchronize();
}

}  // namespace

device_state state_of_devices() {
  device_state state{
      cpu_device::live_allocations(), cpu_device::live_bytes(), {}, cpu_device::report_count()};
  for (std::size_t kind = 0; kind <= static_cast<std::size_t>(cpu_device::kLastObjectKind); ++kind)
    state.objects.push_back(cpu_device::live_objects(static_cast<cpu_device::object_kind>(kind)));
  return state;
}

repair repair_devices() {
  int current = 0, count = 0;
  repair done = repair::none;
  (void)cudaGetDevice(&current);
  (void)cudaGetDeviceCount(&count);
  for (int device = 0; device < count; ++device) {
    (void)cudaSetDevice(device);
    const cudaError_t error = sticky_error();
    if (error == cudaSuccess) continue;
    if (error == cudaErrorLaunchTimeout) {
      done = repair::never_ended;
      continue;
    }
    (void)cudaDeviceReset();
    if (done == repair::none) done = repair::reset;
  }
  (void)cudaSetDevice(current);
  (void)cudaGetLastError();
  return done;
}

}  // namespace lab::testing::detail
