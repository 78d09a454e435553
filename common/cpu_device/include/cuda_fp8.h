// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Floating-point numbers of 8 bits: E4M3, which has no infinity, E5M2, E8M0, which are powers of
// two, and two or four of them. Conversions to E4M3 and E5M2 round to the nearest, ties to even;
// those of the classes saturate.
#pragma once

#include "cpu_device/tiny_float.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;

/// What becomes of numbers that are too large: infinity, or NaN in E4M3 and E8M0; or the largest
/// number.
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

namespace cpu_device {

constexpr const tiny_format& fp8_format_of(__nv_fp8_interpretation_t kind) {
  return kind == __NV_E4M3 ? kE4m3 : kE5m2;
}
inline unsigned char fp8_encode(double x, __nv_saturation_t saturation,
                                __nv_fp8_interpretation_t kind) {
  return tiny_encode(x, fp8_format_of(kind), saturation == __NV_SATFINITE);
}

/// The power of two that is next to the size of x, above or below. The exponents are -127 to 127; 0
/// becomes the smallest.
inline unsigned char e8m0_encode(double x, __nv_saturation_t saturation, cudaRoundMode mode) {
  assert(mode == cudaRoundZero || mode == cudaRoundPosInf);
  constexpr int kBias = 127;
  constexpr unsigned char kLargest = 0xfe, kNan = 0xff;
  if (x != x) return kNan;
  int exponent = -kBias;
  if (std::isinf(x)) {
    exponent = kBias + 1;
  } else if (x != 0) {
    const double fraction = std::frexp(std::fabs(x), &exponent);  // 0.5 to 1
    if (mode == cudaRoundZero || fraction == 0.5) --exponent;
    if (mode == cudaRoundZero) exponent = std::min(exponent, kBias);  // finite, and so it stays
  }
  if (exponent > kBias) return saturation == __NV_SATFINITE ? kLargest : kNan;
  return static_cast<unsigned char>(std::max(exponent + kBias, 0));
}

/// A power of two, as a factor of others. Conversions to it round up and saturate.
struct e8m0 {
  __nv_fp8_storage_t __x;
  e8m0() = default;
  explicit e8m0(double x) : __x(e8m0_encode(x, __NV_SATFINITE, cudaRoundPosInf)) {}
  explicit e8m0(float x) : e8m0(static_cast<double>(x)) {}
  explicit e8m0(__half x) : e8m0(x.wide()) {}
  explicit e8m0(__nv_bfloat16 x) : e8m0(x.wide()) {}
  /// Not rounded to a double: what is above a power of two stays above it.
  template <class T, class = std::enable_if_t<std::is_integral_v<T>>>
  explicit e8m0(T x) : e8m0(odd_double(x)) {}

  explicit operator double() const { return __x == 0xff ? NAN : std::ldexp(1.0, __x - 127); }
  template <class T,
            class = std::enable_if_t<std::is_arithmetic_v<T> || std::is_same_v<T, __half> ||
                                     std::is_same_v<T, __nv_bfloat16>>>
  explicit operator T() const {
    const auto value = static_cast<double>(*this);
    if constexpr (std::is_same_v<T, bool>)
      return true;  // there is no 0
    else if constexpr (std::is_integral_v<T>)
      return to_integer<T>(value, rounding::rz);
    else
      return static_cast<T>(value);
  }
};

}  // namespace cpu_device

CPU_DEVICE_TINY_CONVERSIONS(fp8, __nv_saturation_t, __nv_fp8_interpretation_t, fp8_encode, 8,
                            fp8_format_of)
CPU_DEVICE_TINY(fp8, e4m3, cpu_device::tiny<cpu_device::kE4m3>)
CPU_DEVICE_TINY(fp8, e5m2, cpu_device::tiny<cpu_device::kE5m2>)
CPU_DEVICE_TINY(fp8, e8m0, cpu_device::e8m0)

// Bits of E8M0. NAME2: what a pair is called.
#define CPU_DEVICE_E8M0_FROM(NAME, T, NAME2, T2, WIDE, LOW, HIGH)                               \
  inline __nv_fp8_storage_t __nv_cvt_##NAME##_to_e8m0(T x, __nv_saturation_t saturation,        \
                                                      cudaRoundMode mode) {                     \
    return cpu_device::e8m0_encode(WIDE, saturation, mode);                                     \
  }                                                                                             \
  inline __nv_fp8x2_storage_t __nv_cvt_##NAME2##_to_e8m0x2(T2 x, __nv_saturation_t saturation,  \
                                                           cudaRoundMode mode) {                \
    return static_cast<__nv_fp8x2_storage_t>(__nv_cvt_##NAME##_to_e8m0(LOW, saturation, mode) | \
                                             __nv_cvt_##NAME##_to_e8m0(HIGH, saturation, mode)  \
                                                 << 8);                                         \
  }
CPU_DEVICE_E8M0_FROM(double, double, double2, double2, x, x.x, x.y)
CPU_DEVICE_E8M0_FROM(float, float, float2, float2, static_cast<double>(x), x.x, x.y)
CPU_DEVICE_E8M0_FROM(bfloat16raw, __nv_bfloat16_raw, bfloat162raw, __nv_bfloat162_raw,
                     __nv_bfloat16(x).wide(), __nv_bfloat16_raw{x.x}, __nv_bfloat16_raw{x.y})
#undef CPU_DEVICE_E8M0_FROM

inline __nv_bfloat16_raw __nv_cvt_e8m0_to_bf16raw(__nv_fp8_storage_t x) {
  cpu_device::e8m0 factor;
  factor.__x = x;
  return __nv_bfloat16(static_cast<double>(factor));  // without loss
}
inline __nv_bfloat162_raw __nv_cvt_e8m0x2_to_bf162raw(__nv_fp8x2_storage_t x) {
  return {__nv_cvt_e8m0_to_bf16raw(static_cast<__nv_fp8_storage_t>(x)).x,
          __nv_cvt_e8m0_to_bf16raw(static_cast<__nv_fp8_storage_t>(x >> 8)).x};
}
