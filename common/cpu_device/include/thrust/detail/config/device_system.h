// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Thrust's device system is this device. It is called `cuda`, so that thrust::cuda::par and the
// like are there, and its algorithms are those of Thrust's `cpp` system, which run on the host.
#pragma once

#ifndef THRUST_DEVICE_SYSTEM
#define THRUST_DEVICE_SYSTEM 4  // THRUST_DEVICE_SYSTEM_CPP
#endif
#include_next <thrust/detail/config/device_system.h>
#if THRUST_DEVICE_SYSTEM == THRUST_DEVICE_SYSTEM_CPP
#undef __THRUST_DEVICE_SYSTEM_NAMESPACE
#undef __THRUST_DEVICE_SYSTEM_ROOT
#define __THRUST_DEVICE_SYSTEM_NAMESPACE cuda
// clang-format off
#define __THRUST_DEVICE_SYSTEM_ROOT thrust/system/cpp
// clang-format on
#else
#error "On the CPU device Thrust has one device system: leave THRUST_DEVICE_SYSTEM alone."
#endif
