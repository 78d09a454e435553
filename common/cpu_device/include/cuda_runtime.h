// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The CPU device's cuda_runtime.h: CUDA's runtime API and device functions on host threads. C gets
// the part of the API that is no C++, and host files of a C++ before C++20 what takes no kernel.
#pragma once

#include "cpu_device/qualifiers.h"
#ifdef CPU_DEVICE_KERNELS
// clang-format off
#include "cpu_device/cmath.h"  // before others bring <cmath>
// clang-format on

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <utility>

#include "cpu_device/atomics.h"
#include "cpu_device/device_variables.h"
#include "cpu_device/execution.h"
#include "cpu_device/kernel_functions.h"
#include "cpu_device/math_functions.h"
#include "cpu_device/synchronization.h"
#include "cpu_device/video_instructions.h"
#endif

#include "cpu_device/device_settings.h"
#include "cpu_device/graph_nodes.h"
#include "cpu_device/graphics.h"
#include "cpu_device/graphs.h"
#include "cpu_device/launch_api.h"
#include "cpu_device/memory_pools.h"
#include "cpu_device/runtime_api.h"
#include "cpu_device/textures.h"
#include "cpu_device/vector_types.h"

// Public code asks CUDA's include guards to see what has been included.
#define __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_API_H__
#define __DRIVER_TYPES_H__
#define __VECTOR_TYPES_H__
#define __VECTOR_FUNCTIONS_H__
