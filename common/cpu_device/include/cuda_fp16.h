// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Half precision (IEEE binary16). Arithmetic is rounded exactly; so are the functions (hexp ...),
// but for the last bit of the host's own double functions.
#pragma once

#include "cpu_device/small_float.h"

CPU_DEVICE_SMALL_FLOAT(__half, __half2, 10)
CPU_DEVICE_SMALL_CONVERSIONS(__half, __half2, half)
typedef __half half;
typedef __half2 half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;
