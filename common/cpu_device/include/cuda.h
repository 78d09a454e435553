// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// CUDA spreads its declarations over several headers; here all of them are in one. Of the driver
// API there are tensor maps.
#pragma once

#include <cuda_runtime.h>

#include "cpu_device/tensor_map.h"
