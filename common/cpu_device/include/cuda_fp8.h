// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Floating-point numbers of 8 bits: E4M3, which has no infinity, E5M2, and two or four of them.
// They are for storing: arithmetic is that of the types that they are converted to. Conversions
// round to the nearest, ties to even, once; those of the classes saturate.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu_device/small_float.h"
#include "cpu_device/vector_types.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;

/// What becomes of numbers that are too large: infinity, or NaN in E4M3; or the largest number.
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

namespace cpu_device {

struct fp8_format {
  int digits;              ///< behind the point
  int least;               ///< exponent of the least normal number
  unsigned char largest;   ///< its bits
  unsigned char overflow;  ///< the bits of what comes after it
};
constexpr fp8_format fp8_format_of(__nv_fp8_interpretation_t kind) {
  return kind == __NV_E4M3 ? fp8_format{3, -6, 0x7e, 0x7f} : fp8_format{2, -14, 0x7b, 0x7c};
}

inline __nv_fp8_storage_t fp8_encode(double x, __nv_saturation_t saturation,
                                     __nv_fp8_interpretation_t kind) {
  constexpr double kTooLarge = 65536;  // for each of the formats
  const fp8_format format = fp8_format_of(kind);
  if (x != x) return 0x7f;
  const unsigned sign = std::signbit(x) ? 0x80U : 0U;
  const double size = std::fabs(x);
  unsigned bits = size == 0 ? 0U : 0x80U;
  if (size != 0 && size < kTooLarge) {
    const int exponent = std::max(std::ilogb(size), format.least);
    // The leading digit, where there is one, and a carry add to the exponent.
    bits = (static_cast<unsigned>(exponent - format.least) << format.digits) +
           static_cast<unsigned>(std::nearbyint(std::ldexp(size, format.digits - exponent)));
  }
  if (bits > format.largest) bits = saturation == __NV_SATFINITE ? format.largest : format.overflow;
  return static_cast<__nv_fp8_storage_t>(sign | bits);
}

inline float fp8_decode(__nv_fp8_storage_t bits, __nv_fp8_interpretation_t kind) {
  const fp8_format format = fp8_format_of(kind);
  const unsigned size = bits & 0x7fU, exponent = size >> format.digits;
  const unsigned leading = 1U << format.digits, digits = size % leading;
  float value = std::numeric_limits<float>::quiet_NaN();
  if (size <= format.largest)
    value = std::ldexp(static_cast<float>(exponent == 0 ? digits : digits + leading),
                       static_cast<int>(std::max(exponent, 1U)) - 1 + format.least - format.digits);
  else if (kind == __NV_E5M2 && size == format.overflow)
    value = std::numeric_limits<float>::infinity();
  return (bits & 0x80U) != 0 ? -value : value;
}

constexpr __nv_fp8x2_storage_t fp8_pair(__nv_fp8_storage_t low, __nv_fp8_storage_t high) {
  return static_cast<__nv_fp8x2_storage_t>(low | high << 8);
}

}  // namespace cpu_device

// --- bits ---------------------------------------------------------------------------------------

/// Conversions from T and from T2, a pair of them. LOW and HIGH: the members of the pair, as T.
#define CPU_DEVICE_FP8_FROM(NAME, T, NAME2, T2, WIDE, LOW, HIGH)                              \
  inline __nv_fp8_storage_t __nv_cvt_##NAME##_to_fp8(T x, __nv_saturation_t saturation,       \
                                                     __nv_fp8_interpretation_t kind) {        \
    return cpu_device::fp8_encode(WIDE, saturation, kind);                                    \
  }                                                                                           \
  inline __nv_fp8x2_storage_t __nv_cvt_##NAME2##_to_fp8x2(T2 x, __nv_saturation_t saturation, \
                                                          __nv_fp8_interpretation_t kind) {   \
    return cpu_device::fp8_pair(__nv_cvt_##NAME##_to_fp8(LOW, saturation, kind),              \
                                __nv_cvt_##NAME##_to_fp8(HIGH, saturation, kind));            \
  }
CPU_DEVICE_FP8_FROM(double, double, double2, double2, x, x.x, x.y)
CPU_DEVICE_FP8_FROM(float, float, float2, float2, static_cast<double>(x), x.x, x.y)
CPU_DEVICE_FP8_FROM(halfraw, __half_raw, halfraw2, __half2_raw, __half(x).wide(), __half_raw{x.x},
                    __half_raw{x.y})
CPU_DEVICE_FP8_FROM(bfloat16raw, __nv_bfloat16_raw, bfloat16raw2, __nv_bfloat162_raw,
                    __nv_bfloat16(x).wide(), __nv_bfloat16_raw{x.x}, __nv_bfloat16_raw{x.y})
#undef CPU_DEVICE_FP8_FROM

inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind) {
  return __half(cpu_device::fp8_decode(x, kind));  // each of them is a half
}
inline __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t x,
                                              __nv_fp8_interpretation_t kind) {
  return {__nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(x), kind).x,
          __nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(x >> 8), kind).x};
}

// --- classes ------------------------------------------------------------------------------------

namespace cpu_device {

/// A number, whose storage is called __x as in CUDA. To integers it is cut off, and becomes the
/// nearest that there is; NaN becomes 0.
template <__nv_fp8_interpretation_t Kind>
struct fp8 {
  __nv_fp8_storage_t __x;
  fp8() = default;
  explicit fp8(double x) : __x(fp8_encode(x, __NV_SATFINITE, Kind)) {}
  explicit fp8(float x) : fp8(static_cast<double>(x)) {}
  explicit fp8(__half x) : fp8(x.wide()) {}
  explicit fp8(__nv_bfloat16 x) : fp8(x.wide()) {}
  explicit fp8(short x) : fp8(static_cast<double>(x)) {}
  explicit fp8(unsigned short x) : fp8(static_cast<double>(x)) {}
  explicit fp8(int x) : fp8(static_cast<double>(x)) {}
  explicit fp8(unsigned int x) : fp8(static_cast<double>(x)) {}
  // Whole numbers that a double would round are far beyond the largest number: they saturate.
  explicit fp8(long x) : fp8(static_cast<double>(x)) {}
  explicit fp8(unsigned long x) : fp8(static_cast<double>(x)) {}
  explicit fp8(long long x) : fp8(static_cast<double>(x)) {}
  explicit fp8(unsigned long long x) : fp8(static_cast<double>(x)) {}

  explicit operator float() const { return fp8_decode(__x, Kind); }
  explicit operator double() const { return static_cast<double>(fp8_decode(__x, Kind)); }
  explicit operator __half() const { return fp8_decode(__x, Kind); }
  explicit operator __nv_bfloat16() const { return fp8_decode(__x, Kind); }
  explicit operator bool() const { return (__x & 0x7fU) != 0; }
  explicit operator char() const { return whole<char>(); }
  explicit operator signed char() const { return whole<signed char>(); }
  explicit operator unsigned char() const { return whole<unsigned char>(); }
  explicit operator short() const { return whole<short>(); }
  explicit operator unsigned short() const { return whole<unsigned short>(); }
  explicit operator int() const { return whole<int>(); }
  explicit operator unsigned int() const { return whole<unsigned int>(); }
  explicit operator long() const { return whole<long>(); }
  explicit operator unsigned long() const { return whole<unsigned long>(); }
  explicit operator long long() const { return whole<long long>(); }
  explicit operator unsigned long long() const { return whole<unsigned long long>(); }

 private:
  template <class T>
  T whole() const {
    return to_integer<T>(static_cast<double>(*this), rounding::rz);
  }
};

/// Two numbers; the first is in the low byte.
template <__nv_fp8_interpretation_t Kind>
struct alignas(2) fp8x2 {
  __nv_fp8x2_storage_t __x;
  fp8x2() = default;
  explicit fp8x2(double2 x) : __x(__nv_cvt_double2_to_fp8x2(x, __NV_SATFINITE, Kind)) {}
  explicit fp8x2(float2 x) : __x(__nv_cvt_float2_to_fp8x2(x, __NV_SATFINITE, Kind)) {}
  explicit fp8x2(__half2 x) : __x(__nv_cvt_halfraw2_to_fp8x2(x, __NV_SATFINITE, Kind)) {}
  explicit fp8x2(__nv_bfloat162 x) : __x(__nv_cvt_bfloat16raw2_to_fp8x2(x, __NV_SATFINITE, Kind)) {}
  explicit operator __half2() const { return __nv_cvt_fp8x2_to_halfraw2(__x, Kind); }
  explicit operator float2() const { return __half22float2(static_cast<__half2>(*this)); }
};

/// Four numbers; the first is in the lowest byte.
template <__nv_fp8_interpretation_t Kind>
struct alignas(4) fp8x4 {
  __nv_fp8x4_storage_t __x;
  fp8x4() = default;
  explicit fp8x4(double4_16a x) : fp8x4(double2{x.x, x.y}, double2{x.z, x.w}) {}
  explicit fp8x4(double4_32a x) : fp8x4(double2{x.x, x.y}, double2{x.z, x.w}) {}
  explicit fp8x4(float4 x) : fp8x4(float2{x.x, x.y}, float2{x.z, x.w}) {}
  fp8x4(__half2 low, __half2 high) : fp8x4(pair(low), pair(high)) {}
  fp8x4(__nv_bfloat162 low, __nv_bfloat162 high) : fp8x4(pair(low), pair(high)) {}
  explicit operator float4() const {
    pair low, high;
    low.__x = static_cast<__nv_fp8x2_storage_t>(__x);
    high.__x = static_cast<__nv_fp8x2_storage_t>(__x >> 16);
    const auto a = static_cast<float2>(low), b = static_cast<float2>(high);
    return {a.x, a.y, b.x, b.y};
  }

 private:
  using pair = fp8x2<Kind>;
  fp8x4(pair low, pair high) : __x(low.__x | __nv_fp8x4_storage_t{high.__x} << 16) {}
  fp8x4(double2 low, double2 high) : fp8x4(pair(low), pair(high)) {}
  fp8x4(float2 low, float2 high) : fp8x4(pair(low), pair(high)) {}
};

}  // namespace cpu_device

// Classes of their own: programs declare them before, and overload for them.
#define CPU_DEVICE_FP8(NAME, KIND)                     \
  struct __nv_fp8_##NAME : cpu_device::fp8<KIND> {     \
    using cpu_device::fp8<KIND>::fp8;                  \
  };                                                   \
  struct __nv_fp8x2_##NAME : cpu_device::fp8x2<KIND> { \
    using cpu_device::fp8x2<KIND>::fp8x2;              \
  };                                                   \
  struct __nv_fp8x4_##NAME : cpu_device::fp8x4<KIND> { \
    using cpu_device::fp8x4<KIND>::fp8x4;              \
  };
CPU_DEVICE_FP8(e4m3, __NV_E4M3)
CPU_DEVICE_FP8(e5m2, __NV_E5M2)
#undef CPU_DEVICE_FP8
