// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What may not be called while a stream is captured. Internal to the CPU device.
#pragma once

#include "cpu_device/runtime_api.h"

namespace cpu_device {

/// Fails, and spoils the capture, if there is one that does not allow the running call. Those that
/// wait for the whole device must not be made in any mode. The wrapper of all calls asks this for
/// the functions that call_table.hpp names; a function asks it itself where its arguments decide.
cudaError_t refuse_in_capture(bool device_wide = false);

}  // namespace cpu_device
