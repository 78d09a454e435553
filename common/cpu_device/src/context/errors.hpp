// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What a call of the API answers, and the last error of a host thread. Internal to the CPU device.
#pragma once

#include <string>

#include "cpu_device/runtime_api.h"

namespace cpu_device {

/// Records `error` as this host thread's last error, says why where a sentence is given, and
/// returns it.
cudaError_t fail(cudaError_t error, const std::string& sentence = {});

/// This host thread's last error.
cudaError_t last_error();
/// The same, and forgets it.
cudaError_t take_last_error();

/// The number of an error ("cudaErrorMemoryAllocation"); -1 if there is none of that name.
int error_named(const char* name);

}  // namespace cpu_device
