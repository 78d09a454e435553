// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The time line of a run, for Perfetto. Internal to the CPU device.
#pragma once

namespace cpu_device {

/// CPU_DEVICE_TRACE=FILE: traces from now on. Once, before anything can happen. Returns whether it
/// does.
bool trace_from_environment();

}  // namespace cpu_device
