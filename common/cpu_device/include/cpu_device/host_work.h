// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// For libraries that work on the host with the device's memory, as Thrust does here.
#pragma once

#include <atomic>
#include <cstddef>

#include "cpu_device/runtime_api.h"

namespace cpu_device {

/// Pieces of work that wait in streams, and devices that a kernel's error has broken: where there
/// are none, catch_up() has nothing to do.
extern std::atomic<std::size_t> unsettled;

/// Runs what stands in `stream` so far, and what must come before it, as a synchronous call on
/// that stream would. Returns the error of a kernel that failed. Does nothing inside a kernel.
cudaError_t catch_up(cudaStream_t stream);

}  // namespace cpu_device
