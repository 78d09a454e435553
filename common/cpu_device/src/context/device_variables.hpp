// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Each device's values of the `__device__` and `__constant__` variables. Internal to the CPU
// device.
//
// Such a variable is one C++ variable, so that a kernel's access costs nothing. It holds the values
// of one device at a time; those of the others are kept elsewhere. Work of two devices never runs
// at the same time (it runs under api_mutex()), so it is enough to exchange the values before the
// first work of another device.
#pragma once

#include "cpu_device/device_variables.h"

namespace cpu_device {

/// The device whose values are in the variables.
extern int device_in_variables;
void exchange_variables(int device);

/// Comes before all work that may use a variable. Under api_mutex().
inline void bring_variables(int device) {
  if (device != device_in_variables) [[unlikely]]
    exchange_variables(device);
}

/// Whether the address is in a variable that each device has values of.
bool in_device_variable(const void* address);

}  // namespace cpu_device
