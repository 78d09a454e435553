// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Floating-point numbers of 8 bits and fewer: what cuda_fp8.h, cuda_fp6.h and cuda_fp4.h have in
// common. They are for storing: arithmetic is that of the types that they are converted to.
// Conversions round once.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <type_traits>

#include "cpu_device/small_float.h"
#include "cpu_device/vector_types.h"

enum cudaRoundMode {
  cudaRoundNearest = 0,
  cudaRoundZero = 1,
  cudaRoundPosInf = 2,
  cudaRoundMinInf = 3,
};

namespace cpu_device {

struct tiny_format {
  int bits;           ///< the highest is the sign
  int digits;         ///< behind the point
  int least;          ///< exponent of the least normal number
  unsigned largest;   ///< its bits
  unsigned overflow;  ///< of numbers that are too large and do not saturate
  unsigned nan;       ///< of a format that has no NaN: the largest number
};
inline constexpr tiny_format kE4m3{8, 3, -6, 0x7e, 0x7f, 0x7f};
inline constexpr tiny_format kE5m2{8, 2, -14, 0x7b, 0x7c, 0x7f};
inline constexpr tiny_format kE3m2{6, 2, -2, 0x1f, 0x1f, 0x1f};
inline constexpr tiny_format kE2m3{6, 3, 0, 0x1f, 0x1f, 0x1f};
inline constexpr tiny_format kE2m1{4, 1, 0, 7, 7, 7};

inline unsigned char tiny_encode(double x, const tiny_format& f, bool saturates,
                                 cudaRoundMode mode = cudaRoundNearest) {
  assert(mode == cudaRoundNearest || mode == cudaRoundZero);
  constexpr double kTooLarge = 65536;  // for each of the formats
  if (x != x) return static_cast<unsigned char>(f.nan);
  const unsigned signs = 1U << (f.bits - 1);
  const double size = std::fabs(x);
  unsigned bits = size == 0 ? 0U : signs;
  if (size != 0 && size < kTooLarge) {
    const int exponent = std::max(std::ilogb(size), f.least);
    const double digits = std::ldexp(size, f.digits - exponent);
    // The leading digit, where there is one, and a carry add to the exponent.
    bits = (static_cast<unsigned>(exponent - f.least) << f.digits) +
           static_cast<unsigned>(mode == cudaRoundZero ? digits : std::nearbyint(digits));
  }
  if (bits > f.largest) bits = saturates ? f.largest : f.overflow;
  return static_cast<unsigned char>((std::signbit(x) ? signs : 0U) | bits);
}

inline float tiny_decode(unsigned bits, const tiny_format& f) {
  const unsigned signs = 1U << (f.bits - 1);
  const unsigned size = bits & (signs - 1), exponent = size >> f.digits;
  const unsigned leading = 1U << f.digits, digits = size % leading;
  float value = std::numeric_limits<float>::quiet_NaN();
  if (size <= f.largest)
    value = std::ldexp(static_cast<float>(exponent == 0 ? digits : digits + leading),
                       static_cast<int>(std::max(exponent, 1U)) - 1 + f.least - f.digits);
  else if (size == f.overflow && size != f.nan)
    value = std::numeric_limits<float>::infinity();
  return (bits & signs) != 0 ? -value : value;
}

/// A number, whose storage is called __x as in CUDA. Conversions to it saturate. To integers it is
/// cut off, and becomes the nearest that there is; NaN becomes 0.
template <const tiny_format& F>
struct tiny {
  unsigned char __x;
  tiny() = default;
  explicit tiny(double x) : __x(tiny_encode(x, F, true)) {}
  explicit tiny(float x) : tiny(static_cast<double>(x)) {}
  explicit tiny(__half x) : tiny(x.wide()) {}
  explicit tiny(__nv_bfloat16 x) : tiny(x.wide()) {}
  explicit tiny(short x) : tiny(static_cast<double>(x)) {}
  explicit tiny(unsigned short x) : tiny(static_cast<double>(x)) {}
  explicit tiny(int x) : tiny(static_cast<double>(x)) {}
  explicit tiny(unsigned int x) : tiny(static_cast<double>(x)) {}
  // Whole numbers that a double would round are far beyond the largest number: they saturate.
  explicit tiny(long x) : tiny(static_cast<double>(x)) {}
  explicit tiny(unsigned long x) : tiny(static_cast<double>(x)) {}
  explicit tiny(long long x) : tiny(static_cast<double>(x)) {}
  explicit tiny(unsigned long long x) : tiny(static_cast<double>(x)) {}

  explicit operator float() const { return tiny_decode(__x, F); }
  explicit operator double() const { return static_cast<double>(tiny_decode(__x, F)); }
  explicit operator __half() const { return tiny_decode(__x, F); }
  explicit operator __nv_bfloat16() const { return tiny_decode(__x, F); }
  explicit operator bool() const { return tiny_decode(__x, F) != 0; }
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

/// How far apart numbers are that are stored together, and what two and four of them are stored in.
template <class One>
inline constexpr int kTinyStep = 8;
template <>
inline constexpr int kTinyStep<tiny<kE2m1>> = 4;
template <class One>
using tiny_storage2 = std::conditional_t<kTinyStep<One> == 4, unsigned char, unsigned short>;
template <class One>
using tiny_storage4 = std::conditional_t<kTinyStep<One> == 4, unsigned short, unsigned int>;

/// Two numbers; the first is in the low bits.
template <class One>
struct alignas(sizeof(tiny_storage2<One>)) tiny2 {
  tiny_storage2<One> __x;
  tiny2() = default;
  explicit tiny2(double2 a) : tiny2(One(a.x), One(a.y)) {}
  explicit tiny2(float2 a) : tiny2(One(a.x), One(a.y)) {}
  explicit tiny2(__half2 a) : tiny2(One(a.x), One(a.y)) {}
  explicit tiny2(__nv_bfloat162 a) : tiny2(One(a.x), One(a.y)) {}
  explicit operator float2() const { return {get<float>(0), get<float>(1)}; }
  explicit operator __half2() const { return {get<__half>(0), get<__half>(1)}; }
  explicit operator __nv_bfloat162() const {  // nvcc has this one for powers of two alone
    return {get<__nv_bfloat16>(0), get<__nv_bfloat16>(1)};
  }

 private:
  template <class T>
  T get(int i) const {
    One one;
    one.__x = static_cast<unsigned char>(__x >> (i * kTinyStep<One>));
    return static_cast<T>(one);
  }
  tiny2(One low, One high)
      : __x(static_cast<tiny_storage2<One>>(low.__x | high.__x << kTinyStep<One>)) {}
};

/// Four numbers; the first is in the lowest bits.
template <class One>
struct alignas(sizeof(tiny_storage4<One>)) tiny4 {
  tiny_storage4<One> __x;
  tiny4() = default;
  explicit tiny4(double4_16a a) : tiny4(two(double2{a.x, a.y}), two(double2{a.z, a.w})) {}
  explicit tiny4(double4_32a a) : tiny4(two(double2{a.x, a.y}), two(double2{a.z, a.w})) {}
  explicit tiny4(float4 a) : tiny4(two(float2{a.x, a.y}), two(float2{a.z, a.w})) {}
  tiny4(__half2 low, __half2 high) : tiny4(two(low), two(high)) {}
  tiny4(__nv_bfloat162 low, __nv_bfloat162 high) : tiny4(two(low), two(high)) {}
  explicit operator float4() const {
    two low, high;
    low.__x = static_cast<tiny_storage2<One>>(__x);
    high.__x = static_cast<tiny_storage2<One>>(__x >> (2 * kTinyStep<One>));
    const auto a = static_cast<float2>(low), b = static_cast<float2>(high);
    return {a.x, a.y, b.x, b.y};
  }

 private:
  using two = tiny2<One>;
  tiny4(two low, two high)
      : __x(static_cast<tiny_storage4<One>>(low.__x | static_cast<tiny_storage4<One>>(high.__x)
                                                          << (2 * kTinyStep<One>))) {}
};

}  // namespace cpu_device

/// Classes of their own: programs declare them before, and overload for them. FP: fp8 or another;
/// the argument after NAME: what one number is.
#define CPU_DEVICE_TINY(FP, NAME, ...)                           \
  struct __nv_##FP##_##NAME : __VA_ARGS__ {                      \
    using base = __VA_ARGS__;                                    \
    using base::base;                                            \
  };                                                             \
  struct __nv_##FP##x2_##NAME : cpu_device::tiny2<__VA_ARGS__> { \
    using base = cpu_device::tiny2<__VA_ARGS__>;                 \
    using base::base;                                            \
  };                                                             \
  struct __nv_##FP##x4_##NAME : cpu_device::tiny4<__VA_ARGS__> { \
    using base = cpu_device::tiny4<__VA_ARGS__>;                 \
    using base::base;                                            \
  };

/// The functions for bits: from T and from T2, a pair of them, to FP, whose ENCODE takes P and Q as
/// they do. LOW and HIGH: the members of the pair, as T.
#define CPU_DEVICE_TINY_FROM(FP, P, Q, ENCODE, STEP, NAME, T, NAME2, T2, WIDE, LOW, HIGH)       \
  inline __nv_##FP##_storage_t __nv_cvt_##NAME##_to_##FP(T x, P p, Q q) {                       \
    return cpu_device::ENCODE(WIDE, p, q);                                                      \
  }                                                                                             \
  inline __nv_##FP##x2_storage_t __nv_cvt_##NAME2##_to_##FP##x2(T2 x, P p, Q q) {               \
    return static_cast<__nv_##FP##x2_storage_t>(__nv_cvt_##NAME##_to_##FP(LOW, p, q) |          \
                                                __nv_cvt_##NAME##_to_##FP(HIGH, p, q) << STEP); \
  }
#define CPU_DEVICE_TINY_CONVERSIONS(FP, P, Q, ENCODE, STEP, FORMAT_OF)                          \
  CPU_DEVICE_TINY_FROM(FP, P, Q, ENCODE, STEP, double, double, double2, double2, x, x.x, x.y)   \
  CPU_DEVICE_TINY_FROM(FP, P, Q, ENCODE, STEP, float, float, float2, float2,                    \
                       static_cast<double>(x), x.x, x.y)                                        \
  CPU_DEVICE_TINY_FROM(FP, P, Q, ENCODE, STEP, halfraw, __half_raw, halfraw2, __half2_raw,      \
                       __half(x).wide(), __half_raw{x.x}, __half_raw{x.y})                      \
  CPU_DEVICE_TINY_FROM(FP, P, Q, ENCODE, STEP, bfloat16raw, __nv_bfloat16_raw, bfloat16raw2,    \
                       __nv_bfloat162_raw, __nv_bfloat16(x).wide(), __nv_bfloat16_raw{x.x},     \
                       __nv_bfloat16_raw{x.y})                                                  \
  inline __half_raw __nv_cvt_##FP##_to_halfraw(__nv_##FP##_storage_t x,                         \
                                               __nv_##FP##_interpretation_t kind) {             \
    return __half(cpu_device::tiny_decode(x, cpu_device::FORMAT_OF(kind))); /* without loss */  \
  }                                                                                             \
  inline __half2_raw __nv_cvt_##FP##x2_to_halfraw2(__nv_##FP##x2_storage_t x,                   \
                                                   __nv_##FP##_interpretation_t kind) {         \
    return {__nv_cvt_##FP##_to_halfraw(static_cast<__nv_##FP##_storage_t>(x), kind).x,          \
            __nv_cvt_##FP##_to_halfraw(static_cast<__nv_##FP##_storage_t>(x >> STEP), kind).x}; \
  }
