// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// bfloat16: the upper half of a float. Arithmetic is rounded exactly, as in cuda_fp16.h.
#pragma once

#include "cpu_device/small_float.h"

CPU_DEVICE_SMALL_FLOAT(__nv_bfloat16, __nv_bfloat162, 7)
CPU_DEVICE_SMALL_CONVERSIONS(__nv_bfloat16, __nv_bfloat162, bfloat16)
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
