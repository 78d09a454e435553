// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Injected faults, which are an observer of calls. Internal to the CPU device.
#pragma once

namespace cpu_device {

/// Does what CPU_DEVICE_FAIL says, once; a value that cannot be ends the program with a sentence.
void read_faults_of_environment();

}  // namespace cpu_device
