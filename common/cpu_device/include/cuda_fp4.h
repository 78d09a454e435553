// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Floating-point numbers of 4 bits: E2M1, and two or four of them. Two of them share a byte, the
// first in its low bits. They have neither infinity nor NaN: what is too large becomes the largest
// number with its sign, and NaN the largest number. Rounding is to the nearest, ties to even, or
// towards zero.
#pragma once

#include "cpu_device/tiny_float.h"

typedef unsigned char __nv_fp4_storage_t;
typedef unsigned char __nv_fp4x2_storage_t;
typedef unsigned short __nv_fp4x4_storage_t;

enum __nv_fp4_interpretation_t { __NV_E2M1 };

namespace cpu_device {

constexpr const tiny_format& fp4_format_of(__nv_fp4_interpretation_t) { return kE2m1; }
inline unsigned char fp4_encode(double x, __nv_fp4_interpretation_t kind, cudaRoundMode mode) {
  return tiny_encode(x, fp4_format_of(kind), true, mode);
}

}  // namespace cpu_device

CPU_DEVICE_TINY_CONVERSIONS(fp4, __nv_fp4_interpretation_t, cudaRoundMode, fp4_encode, 4,
                            fp4_format_of)
CPU_DEVICE_TINY(fp4, e2m1, cpu_device::tiny<cpu_device::kE2m1>)
