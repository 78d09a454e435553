// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Floating-point numbers of 6 bits: E2M3 and E3M2, and two or four of them. Each is in the low bits
// of a byte. They have neither infinity nor NaN: what is too large becomes the largest number with
// its sign, and NaN the largest number. Rounding is to the nearest, ties to even, or towards zero.
#pragma once

#include "cpu_device/tiny_float.h"

typedef unsigned char __nv_fp6_storage_t;
typedef unsigned short __nv_fp6x2_storage_t;
typedef unsigned int __nv_fp6x4_storage_t;

enum __nv_fp6_interpretation_t { __NV_E2M3, __NV_E3M2 };

namespace cpu_device {

constexpr const tiny_format& fp6_format_of(__nv_fp6_interpretation_t kind) {
  return kind == __NV_E2M3 ? kE2m3 : kE3m2;
}
inline unsigned char fp6_encode(double x, __nv_fp6_interpretation_t kind, cudaRoundMode mode) {
  return tiny_encode(x, fp6_format_of(kind), true, mode);
}

}  // namespace cpu_device

CPU_DEVICE_TINY_CONVERSIONS(fp6, __nv_fp6_interpretation_t, cudaRoundMode, fp6_encode, 8,
                            fp6_format_of)
CPU_DEVICE_TINY(fp6, e2m3, cpu_device::tiny<cpu_device::kE2m3>)
CPU_DEVICE_TINY(fp6, e3m2, cpu_device::tiny<cpu_device::kE3m2>)
