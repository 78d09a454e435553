// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Devices that report other properties than their own, so that a small case reaches a limit that
// otherwise only a huge one would.
//
//   #ifdef __CPU_DEVICE__
//   TEST_P(EachStep, CoversAsManyRowsAsAGridHasBlocks) {
//     const pretended_devices low([](cudaDeviceProp& p) { p.maxGridSize[1] = 3; });
//     …
//
// Only the CPU device can be told what to say. (It goes on accepting what it really allows.) In one
// of the repetitions of a test device 1 is the current one, so who asks device 0 is wrong there.
#pragma once

#ifdef __CPU_DEVICE__

#include <cpu_device.h>
#include <cuda_runtime.h>

#include "current_device.hpp"
#include "lab/cuda_check.hpp"

namespace lab::testing {

/// While it lives, the device that is current now, or device `of`, or cpu_device::kEveryDevice,
/// says of itself what `change` makes of the properties of device 0.
class pretended_devices {
 public:
  template <class Change>
  explicit pretended_devices(const Change& change, int of = current_device()) {
    CUDA_CHECK(cudaGetDeviceProperties(&properties_, 0));
    change(properties_);
    cpu_device::set_said_of_devices(&properties_, of);
  }
  pretended_devices(const pretended_devices&) = delete;
  pretended_devices& operator=(const pretended_devices&) = delete;
  ~pretended_devices() { cpu_device::set_said_of_devices(nullptr); }

 private:
  cudaDeviceProp properties_{};
};

/// The same for one attribute that no property has.
class pretended_attribute {
 public:
  pretended_attribute(cudaDeviceAttr attribute, int value, int of = current_device())
      : attribute_(attribute) {
    cpu_device::set_said_of_attribute(attribute, &value, of);
  }
  pretended_attribute(const pretended_attribute&) = delete;
  pretended_attribute& operator=(const pretended_attribute&) = delete;
  ~pretended_attribute() { cpu_device::set_said_of_attribute(attribute_, nullptr); }

 private:
  cudaDeviceAttr attribute_;
};

}  // namespace lab::testing

#endif
