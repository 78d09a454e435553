// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Floating-point numbers of 16 bits: what cuda_fp16.h and cuda_bf16.h have in common.
//
// A result is made in double and rounded once more. That is as good as rounding the exact result:
// products are exact there; a sum or a quotient that is not is far from any tie; and a fused
// product of bfloat16s, where a tie and something tiny can meet, is "rounded to odd"
// (intrinsics.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "cpu_device/intrinsics.h"
#include "cpu_device/vector_types.h"
#ifdef CPU_DEVICE_KERNELS
#include "cpu_device/atomics.h"
#endif

namespace cpu_device {

/// The bits of a number with 15 - Digits bits of exponent and Digits bits behind the point.
template <int Digits>
struct small_float {
  static constexpr int kLeast = 2 - (1 << (14 - Digits));  // exponent of the least normal number
  static constexpr unsigned kInfinity = 0x8000U - (1U << Digits);
  static constexpr std::uint16_t kNan = 0x7fff;

  static std::uint16_t encode(double x, rounding mode = rounding::rn) {
    if (x != x) return kNan;
    const bool negative = std::signbit(x);
    const unsigned sign = negative ? 0x8000U : 0U;
    const double size = std::fabs(x);
    const bool away =
        (mode == rounding::ru && !negative) || (mode == rounding::rd && negative);  // from zero
    if (size == 0) return static_cast<std::uint16_t>(sign);
    if (std::isinf(size)) return static_cast<std::uint16_t>(sign | kInfinity);
    const int exponent = std::max(std::ilogb(size), kLeast);
    if (exponent <= 1 - kLeast) {
      const double scaled = std::ldexp(size, Digits - exponent);  // below 2^(Digits + 1), exact
      const double whole = std::floor(scaled), rest = scaled - whole;
      auto digits = static_cast<unsigned>(whole);
      if (mode == rounding::rn ? rest > 0.5 || (rest == 0.5 && digits % 2 == 1) : away && rest > 0)
        ++digits;
      // The leading digit, where there is one, and a carry add to the exponent.
      const unsigned bits = (static_cast<unsigned>(exponent - kLeast) << Digits) + digits;
      if (bits < kInfinity) return static_cast<std::uint16_t>(sign | bits);
    }
    const bool to_infinity = mode == rounding::rn || away;
    return static_cast<std::uint16_t>(sign | (to_infinity ? kInfinity : kInfinity - 1));
  }
  static float decode(std::uint16_t bits) {
    const unsigned size = bits & 0x7fffU, digits = size & ((1U << Digits) - 1);
    float value = 0;
    if (size >= kInfinity)
      value = digits == 0 ? std::numeric_limits<float>::infinity()
                          : std::numeric_limits<float>::quiet_NaN();
    else if (const unsigned exponent = size >> Digits; exponent == 0)
      value = std::ldexp(static_cast<float>(digits), kLeast - Digits);
    else
      value = std::ldexp(static_cast<float>(digits + (1U << Digits)),
                         static_cast<int>(exponent) - 1 + kLeast - Digits);
    return (bits & 0x8000U) != 0 ? -value : value;
  }
};

/// A 64-bit integer as a double, rounded to odd. A long double holds it exactly.
template <class T>
double odd_double(T x) {
  const auto nearest = static_cast<double>(x);
  return to_odd(nearest, static_cast<double>(static_cast<long double>(x) - nearest));
}
inline double odd_sum(double a, double b) {
  const double sum = a + b;
  return to_odd(sum, sum_error(a, b, sum));
}

/// A double as an integer: rounded, the nearest that there is, 0 for NaN.
template <class T>
T to_integer(double x, rounding mode) {
  if (x != x) return 0;
  const double whole = mode == rounding::rn   ? std::nearbyint(x)
                       : mode == rounding::rz ? std::trunc(x)
                       : mode == rounding::ru ? std::ceil(x)
                                              : std::floor(x);
  if (whole <= static_cast<double>(std::numeric_limits<T>::min()))
    return std::numeric_limits<T>::min();
  if (whole >= static_cast<double>(std::numeric_limits<T>::max()))
    return std::numeric_limits<T>::max();
  return static_cast<T>(whole);
}

}  // namespace cpu_device

/// The type T of a number with DIGITS digits, T2 of two of them, and the functions that have one
/// name for all such types.
#define CPU_DEVICE_SMALL_FLOAT(T, T2, DIGITS)                                                    \
  struct T##_raw {                                                                               \
    unsigned short x;                                                                            \
  };                                                                                             \
  struct T {                                                                                     \
    using format = cpu_device::small_float<DIGITS>;                                              \
    unsigned short bits;                                                                         \
    T() = default;                                                                               \
    T(const T##_raw& raw) : bits(raw.x) {}                                                       \
    T(float x) : bits(format::encode(static_cast<double>(x))) {}                                 \
    T(double x) : bits(format::encode(x)) {}                                                     \
    T(short x) : T(static_cast<double>(x)) {}                                                    \
    T(unsigned short x) : T(static_cast<double>(x)) {}                                           \
    T(int x) : T(static_cast<double>(x)) {}                                                      \
    T(unsigned int x) : T(static_cast<double>(x)) {}                                             \
    T(long x) : T(static_cast<long long>(x)) {}                                                  \
    T(unsigned long x) : T(static_cast<unsigned long long>(x)) {}                                \
    T(long long x) : T(cpu_device::odd_double(x)) {}                                             \
    T(unsigned long long x) : T(cpu_device::odd_double(x)) {}                                    \
    operator float() const { return format::decode(bits); }                                      \
    operator T##_raw() const { return {bits}; }                                                  \
    double wide() const { return static_cast<double>(format::decode(bits)); }                    \
    static T of_bits(unsigned b) { return T(T##_raw{static_cast<unsigned short>(b)}); }          \
    static T rounded(double x, cpu_device::rounding mode) {                                      \
      return of_bits(format::encode(x, mode));                                                   \
    }                                                                                            \
    T& operator+=(T b);                                                                          \
    T& operator-=(T b);                                                                          \
    T& operator*=(T b);                                                                          \
    T& operator/=(T b);                                                                          \
  };                                                                                             \
  inline bool __hisnan(T a) { return (a.bits & 0x7fffU) > T::format::kInfinity; }                \
  inline int __hisinf(T a) {                                                                     \
    return (a.bits & 0x7fffU) != T::format::kInfinity ? 0 : (a.bits & 0x8000U) != 0 ? -1 : 1;    \
  }                                                                                              \
  inline T __hneg(T a) { return T::of_bits(a.bits ^ 0x8000U); }                                  \
  inline T __habs(T a) { return T::of_bits(a.bits & 0x7fffU); }                                  \
  inline T __hadd(T a, T b) { return a.wide() + b.wide(); }                                      \
  inline T __hsub(T a, T b) { return a.wide() - b.wide(); }                                      \
  inline T __hmul(T a, T b) { return a.wide() * b.wide(); }                                      \
  inline T __hdiv(T a, T b) { return a.wide() / b.wide(); }                                      \
  inline T __hfma(T a, T b, T c) { return cpu_device::odd_sum(a.wide() * b.wide(), c.wide()); }  \
  inline T __hadd_rn(T a, T b) { return __hadd(a, b); }                                          \
  inline T __hsub_rn(T a, T b) { return __hsub(a, b); }                                          \
  inline T __hmul_rn(T a, T b) { return __hmul(a, b); }                                          \
  /* into [0, 1], NaN becomes 0 */                                                               \
  inline T cpu_device_saturated(T a) {                                                           \
    return __hisnan(a) || (a.bits & 0x8000U) != 0 ? T(0) : a.wide() > 1 ? T(1) : a;              \
  }                                                                                              \
  inline T __hadd_sat(T a, T b) { return cpu_device_saturated(__hadd(a, b)); }                   \
  inline T __hsub_sat(T a, T b) { return cpu_device_saturated(__hsub(a, b)); }                   \
  inline T __hmul_sat(T a, T b) { return cpu_device_saturated(__hmul(a, b)); }                   \
  inline T __hfma_sat(T a, T b, T c) { return cpu_device_saturated(__hfma(a, b, c)); }           \
  inline T __hfma_relu(T a, T b, T c) {                                                          \
    const T r = __hfma(a, b, c);                                                                 \
    return __hisnan(r) ? r : r.wide() > 0 ? r : T(0);                                            \
  }                                                                                              \
  inline T operator+(T a, T b) { return __hadd(a, b); }                                          \
  inline T operator-(T a, T b) { return __hsub(a, b); }                                          \
  inline T operator*(T a, T b) { return __hmul(a, b); }                                          \
  inline T operator/(T a, T b) { return __hdiv(a, b); }                                          \
  inline T operator-(T a) { return __hneg(a); }                                                  \
  inline T operator+(T a) { return a; }                                                          \
  inline T& T::operator+=(T b) { return *this = *this + b; }                                     \
  inline T& T::operator-=(T b) { return *this = *this - b; }                                     \
  inline T& T::operator*=(T b) { return *this = *this * b; }                                     \
  inline T& T::operator/=(T b) { return *this = *this / b; }                                     \
  CPU_DEVICE_SMALL_COMPARE(T, T2, eq, ==)                                                        \
  CPU_DEVICE_SMALL_COMPARE(T, T2, ne, !=)                                                        \
  CPU_DEVICE_SMALL_COMPARE(T, T2, lt, <)                                                         \
  CPU_DEVICE_SMALL_COMPARE(T, T2, le, <=)                                                        \
  CPU_DEVICE_SMALL_COMPARE(T, T2, gt, >)                                                         \
  CPU_DEVICE_SMALL_COMPARE(T, T2, ge, >=)                                                        \
  /* the other one if one is NaN; -0 is less than +0 */                                          \
  inline T __hmax(T a, T b) {                                                                    \
    if (__hisnan(a)) return __hisnan(b) ? T::of_bits(T::format::kNan) : b;                       \
    if (__hisnan(b)) return a;                                                                   \
    return a.wide() == b.wide() ? T::of_bits(a.bits & b.bits) : a.wide() > b.wide() ? a : b;     \
  }                                                                                              \
  inline T __hmin(T a, T b) {                                                                    \
    if (__hisnan(a)) return __hisnan(b) ? T::of_bits(T::format::kNan) : b;                       \
    if (__hisnan(b)) return a;                                                                   \
    return a.wide() == b.wide() ? T::of_bits(a.bits | b.bits) : a.wide() < b.wide() ? a : b;     \
  }                                                                                              \
  CPU_DEVICE_SMALL_FUNCTION(T, hsqrt, std::sqrt(x))                                              \
  CPU_DEVICE_SMALL_FUNCTION(T, hrsqrt, 1 / std::sqrt(x))                                         \
  CPU_DEVICE_SMALL_FUNCTION(T, hrcp, 1 / x)                                                      \
  CPU_DEVICE_SMALL_FUNCTION(T, hexp, std::exp(x))                                                \
  CPU_DEVICE_SMALL_FUNCTION(T, hexp2, std::exp2(x))                                              \
  CPU_DEVICE_SMALL_FUNCTION(T, hexp10, std::pow(10.0, x))                                        \
  CPU_DEVICE_SMALL_FUNCTION(T, hlog, std::log(x))                                                \
  CPU_DEVICE_SMALL_FUNCTION(T, hlog2, std::log2(x))                                              \
  CPU_DEVICE_SMALL_FUNCTION(T, hlog10, std::log10(x))                                            \
  CPU_DEVICE_SMALL_FUNCTION(T, hsin, std::sin(x))                                                \
  CPU_DEVICE_SMALL_FUNCTION(T, hcos, std::cos(x))                                                \
  CPU_DEVICE_SMALL_FUNCTION(T, hfloor, std::floor(x))                                            \
  CPU_DEVICE_SMALL_FUNCTION(T, hceil, std::ceil(x))                                              \
  CPU_DEVICE_SMALL_FUNCTION(T, htrunc, std::trunc(x))                                            \
  CPU_DEVICE_SMALL_FUNCTION(T, hrint, std::nearbyint(x))                                         \
  struct T2##_raw {                                                                              \
    unsigned short x, y;                                                                         \
  };                                                                                             \
  struct alignas(4) T2 {                                                                         \
    T x, y;                                                                                      \
    T2() = default;                                                                              \
    T2(T a, T b) : x(a), y(b) {}                                                                 \
    T2(const T2##_raw& raw) : x(T::of_bits(raw.x)), y(T::of_bits(raw.y)) {}                      \
    operator T2##_raw() const { return {x.bits, y.bits}; }                                       \
  };                                                                                             \
  CPU_DEVICE_SMALL_PAIR(T, T2, __hadd2, __hadd, +)                                               \
  CPU_DEVICE_SMALL_PAIR(T, T2, __hsub2, __hsub, -)                                               \
  CPU_DEVICE_SMALL_PAIR(T, T2, __hmul2, __hmul, *)                                               \
  CPU_DEVICE_SMALL_PAIR(T, T2, __h2div, __hdiv, /)                                               \
  inline T2 __hmax2(T2 a, T2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }                 \
  inline T2 __hmin2(T2 a, T2 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }                 \
  inline T2 __hfma2(T2 a, T2 b, T2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; } \
  inline T2 __hneg2(T2 a) { return {__hneg(a.x), __hneg(a.y)}; }                                 \
  inline T2 __habs2(T2 a) { return {__habs(a.x), __habs(a.y)}; }                                 \
  inline T2 operator-(T2 a) { return __hneg2(a); }                                               \
  inline T2 h2sqrt(T2 a) { return {hsqrt(a.x), hsqrt(a.y)}; }                                    \
  inline T2 h2exp(T2 a) { return {hexp(a.x), hexp(a.y)}; }                                       \
  inline T2 h2log(T2 a) { return {hlog(a.x), hlog(a.y)}; }                                       \
  inline float __low2float(T2 a) { return a.x; }                                                 \
  inline float __high2float(T2 a) { return a.y; }                                                \
  CPU_DEVICE_SMALL_ATOMIC(T, T2)

#ifdef CPU_DEVICE_KERNELS
#define CPU_DEVICE_SMALL_ATOMIC(T, T2)                                                          \
  inline T atomicAdd(T* address, T value) {                                                     \
    return T::of_bits(cpu_device::atomic_update(                                                \
        &address->bits, [=](unsigned short seen) { return (T::of_bits(seen) + value).bits; })); \
  }                                                                                             \
  inline T2 atomicAdd(T2* address, T2 value) {                                                  \
    return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y)};                  \
  }
#else
#define CPU_DEVICE_SMALL_ATOMIC(T, T2)
#endif
#define CPU_DEVICE_SMALL_COMPARE(T, T2, NAME, OP)                  \
  inline bool __h##NAME(T a, T b) { return a.wide() OP b.wide(); } \
  inline bool __h##NAME##u(T a, T b) {                             \
    return __hisnan(a) || __hisnan(b) || a.wide() OP b.wide();     \
  }                                                                \
  inline bool operator OP(T a, T b) { return a.wide() OP b.wide(); }
#define CPU_DEVICE_SMALL_FUNCTION(T, NAME, EXPRESSION) \
  inline T NAME(T a) {                                 \
    const double x = a.wide();                         \
    return T(EXPRESSION);                              \
  }
#define CPU_DEVICE_SMALL_PAIR(T, T2, NAME, ONE, OP)                     \
  inline T2 NAME(T2 a, T2 b) { return {ONE(a.x, b.x), ONE(a.y, b.y)}; } \
  inline T2 operator OP(T2 a, T2 b) { return NAME(a, b); }              \
  inline T2& operator OP##=(T2& a, T2 b) { return a = NAME(a, b); }

/// Conversions, whose names contain the type: NAME in __float2NAME and __NAME2float, and so on.
#define CPU_DEVICE_SMALL_CONVERSIONS(T, T2, NAME)                                                  \
  inline T __float2##NAME(float x) { return x; }                                                   \
  inline T __double2##NAME(double x) { return x; }                                                 \
  inline float __##NAME##2float(T x) { return x; }                                                 \
  inline T __float2##NAME##_rn(float x) { return x; }                                              \
  inline T __float2##NAME##_rz(float x) {                                                          \
    return T::rounded(static_cast<double>(x), cpu_device::rounding::rz);                           \
  }                                                                                                \
  inline T __float2##NAME##_ru(float x) {                                                          \
    return T::rounded(static_cast<double>(x), cpu_device::rounding::ru);                           \
  }                                                                                                \
  inline T __float2##NAME##_rd(float x) {                                                          \
    return T::rounded(static_cast<double>(x), cpu_device::rounding::rd);                           \
  }                                                                                                \
  inline unsigned short __##NAME##_as_ushort(T x) { return x.bits; }                               \
  inline short __##NAME##_as_short(T x) { return static_cast<short>(x.bits); }                     \
  inline T __ushort_as_##NAME(unsigned short bits) { return T::of_bits(bits); }                    \
  inline T __short_as_##NAME(short bits) { return T::of_bits(static_cast<unsigned short>(bits)); } \
  inline T2 __floats2##NAME##2_rn(float x, float y) { return {T(x), T(y)}; }                       \
  inline T2 __float2##NAME##2_rn(float x) { return {T(x), T(x)}; }                                 \
  inline T2 __float22##NAME##2_rn(float2 a) { return {T(a.x), T(a.y)}; }                           \
  inline float2 __##NAME##22float2(T2 a) { return {float{a.x}, float{a.y}}; }                      \
  inline T2 __##NAME##2##NAME##2(T x) { return {x, x}; }                                           \
  inline T2 __halves2##NAME##2(T x, T y) { return {x, y}; }                                        \
  inline T __low2##NAME(T2 a) { return a.x; }                                                      \
  inline T __high2##NAME(T2 a) { return a.y; }                                                     \
  inline T2 __lows2##NAME##2(T2 a, T2 b) { return {a.x, b.x}; }                                    \
  inline T2 __highs2##NAME##2(T2 a, T2 b) { return {a.y, b.y}; }                                   \
  inline T2 make_##NAME##2(T x, T y) { return {x, y}; }                                            \
  CPU_DEVICE_SMALL_INTEGER(T, NAME, int, int)                                                      \
  CPU_DEVICE_SMALL_INTEGER(T, NAME, unsigned int, uint)                                            \
  CPU_DEVICE_SMALL_INTEGER(T, NAME, short, short)                                                  \
  CPU_DEVICE_SMALL_INTEGER(T, NAME, unsigned short, ushort)                                        \
  CPU_DEVICE_SMALL_INTEGER(T, NAME, long long, ll)                                                 \
  CPU_DEVICE_SMALL_INTEGER(T, NAME, unsigned long long, ull)
#define CPU_DEVICE_SMALL_INTEGER(T, NAME, I, LETTERS)   \
  inline T __##LETTERS##2##NAME##_rn(I x) { return x; } \
  CPU_DEVICE_SMALL_TO(T, NAME, I, LETTERS, rn)          \
  CPU_DEVICE_SMALL_TO(T, NAME, I, LETTERS, rz)          \
  CPU_DEVICE_SMALL_TO(T, NAME, I, LETTERS, ru)          \
  CPU_DEVICE_SMALL_TO(T, NAME, I, LETTERS, rd)
#define CPU_DEVICE_SMALL_TO(T, NAME, I, LETTERS, MODE)                      \
  inline I __##NAME##2##LETTERS##_##MODE(T x) {                             \
    return cpu_device::to_integer<I>(x.wide(), cpu_device::rounding::MODE); \
  }
