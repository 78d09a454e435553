// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// CUDA's half precision: __half and __half2, their conversions, arithmetic, comparisons and
// functions, for kernels and for host code. Results are rounded exactly, to the nearest even one
// where the name says nothing else.
#pragma once

#include <cmath>

#include "cpu_device/atomics.h"
#include "cpu_device/half.h"

// --- conversions --------------------------------------------------------------------------------

inline __half __float2half(float x) { return cpu_device::round_to_half(static_cast<double>(x)); }
inline __half __double2half(double x) { return cpu_device::round_to_half(x); }
inline float __half2float(__half x) { return cpu_device::half_value(x.__x); }

// From each integer type and back, in the four roundings of CUDA's names.
#define CPU_DEVICE_HALF_CONVERSION(T, NAME, M)                                       \
  inline __half __##NAME##2half_##M(T x) {                                           \
    return cpu_device::make_half(                                                    \
        cpu_device::half_bits(cpu_device::double_of(x), cpu_device::rounding::M));   \
  }                                                                                  \
  inline T __half2##NAME##_##M(__half x) {                                           \
    return cpu_device::half_to_integer<T, cpu_device::rounding::M>(__half2float(x)); \
  }
#define CPU_DEVICE_HALF_CONVERSIONS(M)                                           \
  inline __half __float2half_##M(float x) {                                      \
    return cpu_device::make_half(                                                \
        cpu_device::half_bits(static_cast<double>(x), cpu_device::rounding::M)); \
  }                                                                              \
  CPU_DEVICE_HALF_CONVERSION(short, short, M)                                    \
  CPU_DEVICE_HALF_CONVERSION(unsigned short, ushort, M)                          \
  CPU_DEVICE_HALF_CONVERSION(int, int, M)                                        \
  CPU_DEVICE_HALF_CONVERSION(unsigned int, uint, M)                              \
  CPU_DEVICE_HALF_CONVERSION(long long, ll, M)                                   \
  CPU_DEVICE_HALF_CONVERSION(unsigned long long, ull, M)
CPU_DEVICE_HALF_CONVERSIONS(rn)
CPU_DEVICE_HALF_CONVERSIONS(rz)
CPU_DEVICE_HALF_CONVERSIONS(ru)
CPU_DEVICE_HALF_CONVERSIONS(rd)
#undef CPU_DEVICE_HALF_CONVERSIONS
#undef CPU_DEVICE_HALF_CONVERSION

inline short __half_as_short(__half x) { return static_cast<short>(x.__x); }
inline unsigned short __half_as_ushort(__half x) { return x.__x; }
inline __half __short_as_half(short bits) {
  return cpu_device::make_half(static_cast<unsigned short>(bits));
}
inline __half __ushort_as_half(unsigned short bits) { return cpu_device::make_half(bits); }

// --- pairs --------------------------------------------------------------------------------------

inline __half2 make_half2(__half low, __half high) { return {low, high}; }
inline __half2 __halves2half2(__half low, __half high) { return {low, high}; }
inline __half2 __half2half2(__half x) { return {x, x}; }
inline __half __low2half(__half2 a) { return a.x; }
inline __half __high2half(__half2 a) { return a.y; }
inline float __low2float(__half2 a) { return __half2float(a.x); }
inline float __high2float(__half2 a) { return __half2float(a.y); }
inline __half2 __low2half2(__half2 a) { return {a.x, a.x}; }
inline __half2 __high2half2(__half2 a) { return {a.y, a.y}; }
inline __half2 __lows2half2(__half2 a, __half2 b) { return {a.x, b.x}; }
inline __half2 __highs2half2(__half2 a, __half2 b) { return {a.y, b.y}; }
inline __half2 __lowhigh2highlow(__half2 a) { return {a.y, a.x}; }
inline __half2 __float2half2_rn(float x) { return __half2half2(__float2half(x)); }
inline __half2 __floats2half2_rn(float low, float high) {
  return {__float2half(low), __float2half(high)};
}
inline __half2 __float22half2_rn(float2 a) { return __floats2half2_rn(a.x, a.y); }
inline float2 __half22float2(__half2 a) { return {__low2float(a), __high2float(a)}; }

// --- arithmetic ---------------------------------------------------------------------------------

inline bool __hisnan(__half x) { return (x.__x & 0x7FFF) > cpu_device::kHalfInfinity; }
/// 1 for infinity, -1 for minus infinity, 0 for others.
inline int __hisinf(__half x) {
  if ((x.__x & 0x7FFF) != cpu_device::kHalfInfinity) return 0;
  return x.__x == cpu_device::kHalfInfinity ? 1 : -1;
}
inline __half __hneg(__half x) {
  return cpu_device::make_half(static_cast<unsigned short>(x.__x ^ 0x8000));
}
inline __half __habs(__half x) {
  return cpu_device::make_half(static_cast<unsigned short>(x.__x & 0x7FFF));
}
// The sum, difference and product of two halves are exact in double. So is the quotient to far more
// digits than the distance of a quotient of halves from the middle between two halves.
inline __half __hadd(__half a, __half b) {
  return cpu_device::round_to_half(cpu_device::wide(a) + cpu_device::wide(b));
}
inline __half __hsub(__half a, __half b) {
  return cpu_device::round_to_half(cpu_device::wide(a) - cpu_device::wide(b));
}
inline __half __hmul(__half a, __half b) {
  return cpu_device::round_to_half(cpu_device::wide(a) * cpu_device::wide(b));
}
inline __half __hdiv(__half a, __half b) {
  return cpu_device::round_to_half(cpu_device::wide(a) / cpu_device::wide(b));
}
/// a * b + c, rounded once: the product is exact in double, and so is the sum, but where one of the
/// two is too small to matter, or the result too large for a half.
inline __half __hfma(__half a, __half b, __half c) {
  return cpu_device::round_to_half(cpu_device::wide(a) * cpu_device::wide(b) + cpu_device::wide(c));
}
// Never joined to a fused multiply-add; here the others are not either.
inline __half __hadd_rn(__half a, __half b) { return __hadd(a, b); }
inline __half __hsub_rn(__half a, __half b) { return __hsub(a, b); }
inline __half __hmul_rn(__half a, __half b) { return __hmul(a, b); }

namespace cpu_device {
/// Between 0 and 1; NaN becomes 0.
inline __half saturated(__half x) {
  if (__hisnan(x) || (x.__x & 0x8000) != 0) return make_half(0);
  return x.__x > 0x3C00 ? make_half(0x3C00) : x;
}
/// Not negative; NaN stays.
inline __half not_negative(__half x) {
  return !__hisnan(x) && (x.__x & 0x8000) != 0 ? make_half(0) : x;
}
}  // namespace cpu_device
inline __half __hadd_sat(__half a, __half b) { return cpu_device::saturated(__hadd(a, b)); }
inline __half __hsub_sat(__half a, __half b) { return cpu_device::saturated(__hsub(a, b)); }
inline __half __hmul_sat(__half a, __half b) { return cpu_device::saturated(__hmul(a, b)); }
inline __half __hfma_sat(__half a, __half b, __half c) {
  return cpu_device::saturated(__hfma(a, b, c));
}
inline __half __hfma_relu(__half a, __half b, __half c) {
  return cpu_device::not_negative(__hfma(a, b, c));
}

// --- comparisons: false where an operand is NaN, and true in the unordered forms (…u) -----------

inline bool __heq(__half a, __half b) {
  return !__hisnan(a) && !__hisnan(b) && __half2float(a) == __half2float(b);
}
inline bool __hequ(__half a, __half b) { return __hisnan(a) || __hisnan(b) || __heq(a, b); }
inline bool __hne(__half a, __half b) {
  return !__hisnan(a) && !__hisnan(b) && __half2float(a) != __half2float(b);
}
inline bool __hneu(__half a, __half b) { return __hisnan(a) || __hisnan(b) || __hne(a, b); }
inline bool __hlt(__half a, __half b) {
  return !__hisnan(a) && !__hisnan(b) && __half2float(a) < __half2float(b);
}
inline bool __hltu(__half a, __half b) { return __hisnan(a) || __hisnan(b) || __hlt(a, b); }
inline bool __hle(__half a, __half b) {
  return !__hisnan(a) && !__hisnan(b) && __half2float(a) <= __half2float(b);
}
inline bool __hleu(__half a, __half b) { return __hisnan(a) || __hisnan(b) || __hle(a, b); }
inline bool __hgt(__half a, __half b) {
  return !__hisnan(a) && !__hisnan(b) && __half2float(a) > __half2float(b);
}
inline bool __hgtu(__half a, __half b) { return __hisnan(a) || __hisnan(b) || __hgt(a, b); }
inline bool __hge(__half a, __half b) {
  return !__hisnan(a) && !__hisnan(b) && __half2float(a) >= __half2float(b);
}
inline bool __hgeu(__half a, __half b) { return __hisnan(a) || __hisnan(b) || __hge(a, b); }

// Of pairs: 1.0 or 0.0 for each half, whether both hold, and 0xFFFF or 0 for each half.
#define CPU_DEVICE_HALF2_COMPARISON(NAME)                                                   \
  inline __half2 __h##NAME##2(__half2 a, __half2 b) {                                       \
    return {cpu_device::round_to_half(__h##NAME(a.x, b.x) ? 1.0 : 0.0),                     \
            cpu_device::round_to_half(__h##NAME(a.y, b.y) ? 1.0 : 0.0)};                    \
  }                                                                                         \
  inline bool __hb##NAME##2(__half2 a, __half2 b) {                                         \
    return __h##NAME(a.x, b.x) && __h##NAME(a.y, b.y);                                      \
  }                                                                                         \
  inline unsigned __h##NAME##2_mask(__half2 a, __half2 b) {                                 \
    return (__h##NAME(a.x, b.x) ? 0xFFFFU : 0U) | (__h##NAME(a.y, b.y) ? 0xFFFF0000U : 0U); \
  }
CPU_DEVICE_HALF2_COMPARISON(eq)
CPU_DEVICE_HALF2_COMPARISON(equ)
CPU_DEVICE_HALF2_COMPARISON(ne)
CPU_DEVICE_HALF2_COMPARISON(neu)
CPU_DEVICE_HALF2_COMPARISON(lt)
CPU_DEVICE_HALF2_COMPARISON(ltu)
CPU_DEVICE_HALF2_COMPARISON(le)
CPU_DEVICE_HALF2_COMPARISON(leu)
CPU_DEVICE_HALF2_COMPARISON(gt)
CPU_DEVICE_HALF2_COMPARISON(gtu)
CPU_DEVICE_HALF2_COMPARISON(ge)
CPU_DEVICE_HALF2_COMPARISON(geu)
#undef CPU_DEVICE_HALF2_COMPARISON
inline __half2 __hisnan2(__half2 a) {
  return {cpu_device::round_to_half(__hisnan(a.x) ? 1.0 : 0.0),
          cpu_device::round_to_half(__hisnan(a.y) ? 1.0 : 0.0)};
}

// The other operand where one is NaN; -0 is less than +0. In the _nan forms NaN prevails.
inline __half __hmax(__half a, __half b) {
  if (__hisnan(a)) return __hisnan(b) ? cpu_device::make_half(cpu_device::kHalfNan) : b;
  if (__hisnan(b)) return a;
  if (__heq(a, b)) return (a.__x & 0x8000) != 0 ? b : a;
  return __hgt(a, b) ? a : b;
}
inline __half __hmin(__half a, __half b) {
  if (__hisnan(a)) return __hisnan(b) ? cpu_device::make_half(cpu_device::kHalfNan) : b;
  if (__hisnan(b)) return a;
  if (__heq(a, b)) return (a.__x & 0x8000) != 0 ? a : b;
  return __hlt(a, b) ? a : b;
}
inline __half __hmax_nan(__half a, __half b) {
  return __hisnan(a) || __hisnan(b) ? cpu_device::make_half(cpu_device::kHalfNan) : __hmax(a, b);
}
inline __half __hmin_nan(__half a, __half b) {
  return __hisnan(a) || __hisnan(b) ? cpu_device::make_half(cpu_device::kHalfNan) : __hmin(a, b);
}

// --- functions ----------------------------------------------------------------------------------

// Of one half, and of both halves of a pair: hsqrt(x) and h2sqrt(a).
#define CPU_DEVICE_HALF_FUNCTION(NAME, EXPRESSION)                            \
  inline __half h##NAME(__half x) {                                           \
    return cpu_device::half_function(x, [](double v) { return EXPRESSION; }); \
  }                                                                           \
  inline __half2 h2##NAME(__half2 a) { return {h##NAME(a.x), h##NAME(a.y)}; }
CPU_DEVICE_HALF_FUNCTION(sqrt, std::sqrt(v))
CPU_DEVICE_HALF_FUNCTION(rsqrt, 1 / std::sqrt(v))
CPU_DEVICE_HALF_FUNCTION(rcp, 1 / v)
CPU_DEVICE_HALF_FUNCTION(exp, std::exp(v))
CPU_DEVICE_HALF_FUNCTION(exp2, std::exp2(v))
CPU_DEVICE_HALF_FUNCTION(exp10, std::pow(10.0, v))
CPU_DEVICE_HALF_FUNCTION(log, std::log(v))
CPU_DEVICE_HALF_FUNCTION(log2, std::log2(v))
CPU_DEVICE_HALF_FUNCTION(log10, std::log10(v))
CPU_DEVICE_HALF_FUNCTION(sin, std::sin(v))
CPU_DEVICE_HALF_FUNCTION(cos, std::cos(v))
CPU_DEVICE_HALF_FUNCTION(tanh, std::tanh(v))
CPU_DEVICE_HALF_FUNCTION(floor, std::floor(v))
CPU_DEVICE_HALF_FUNCTION(ceil, std::ceil(v))
CPU_DEVICE_HALF_FUNCTION(trunc, std::trunc(v))
CPU_DEVICE_HALF_FUNCTION(rint, std::rint(v))
#undef CPU_DEVICE_HALF_FUNCTION

// --- pairs: each half by itself -----------------------------------------------------------------

inline __half2 __hneg2(__half2 a) { return {__hneg(a.x), __hneg(a.y)}; }
inline __half2 __habs2(__half2 a) { return {__habs(a.x), __habs(a.y)}; }
inline __half2 __h2div(__half2 a, __half2 b) { return {__hdiv(a.x, b.x), __hdiv(a.y, b.y)}; }
#define CPU_DEVICE_HALF2_FUNCTION(NAME, OF_ONE) \
  inline __half2 NAME(__half2 a, __half2 b) { return {OF_ONE(a.x, b.x), OF_ONE(a.y, b.y)}; }
CPU_DEVICE_HALF2_FUNCTION(__hadd2, __hadd)
CPU_DEVICE_HALF2_FUNCTION(__hsub2, __hsub)
CPU_DEVICE_HALF2_FUNCTION(__hmul2, __hmul)
CPU_DEVICE_HALF2_FUNCTION(__hadd2_rn, __hadd)
CPU_DEVICE_HALF2_FUNCTION(__hsub2_rn, __hsub)
CPU_DEVICE_HALF2_FUNCTION(__hmul2_rn, __hmul)
CPU_DEVICE_HALF2_FUNCTION(__hadd2_sat, __hadd_sat)
CPU_DEVICE_HALF2_FUNCTION(__hsub2_sat, __hsub_sat)
CPU_DEVICE_HALF2_FUNCTION(__hmul2_sat, __hmul_sat)
CPU_DEVICE_HALF2_FUNCTION(__hmax2, __hmax)
CPU_DEVICE_HALF2_FUNCTION(__hmin2, __hmin)
CPU_DEVICE_HALF2_FUNCTION(__hmax2_nan, __hmax_nan)
CPU_DEVICE_HALF2_FUNCTION(__hmin2_nan, __hmin_nan)
#undef CPU_DEVICE_HALF2_FUNCTION
inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
inline __half2 __hfma2_sat(__half2 a, __half2 b, __half2 c) {
  return {__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y)};
}
inline __half2 __hfma2_relu(__half2 a, __half2 b, __half2 c) {
  return {__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)};
}

// --- operators: != is true where an operand is NaN, the other comparisons are false -------------

#define CPU_DEVICE_HALF_OPERATOR(SIGN, OF_ONE, OF_TWO)                                      \
  inline __half operator SIGN(const __half& a, const __half& b) { return OF_ONE(a, b); }    \
  inline __half& operator SIGN##=(__half& a, const __half& b) { return a = OF_ONE(a, b); }  \
  inline __half2 operator SIGN(const __half2& a, const __half2& b) { return OF_TWO(a, b); } \
  inline __half2& operator SIGN##=(__half2& a, const __half2& b) { return a = OF_TWO(a, b); }
CPU_DEVICE_HALF_OPERATOR(+, __hadd, __hadd2)
CPU_DEVICE_HALF_OPERATOR(-, __hsub, __hsub2)
CPU_DEVICE_HALF_OPERATOR(*, __hmul, __hmul2)
CPU_DEVICE_HALF_OPERATOR(/, __hdiv, __h2div)
#undef CPU_DEVICE_HALF_OPERATOR
#define CPU_DEVICE_HALF_COMPARISON(SIGN, OF_ONE, OF_TWO)                               \
  inline bool operator SIGN(const __half& a, const __half& b) { return OF_ONE(a, b); } \
  inline bool operator SIGN(const __half2& a, const __half2& b) { return OF_TWO(a, b); }
CPU_DEVICE_HALF_COMPARISON(==, __heq, __hbeq2)
CPU_DEVICE_HALF_COMPARISON(!=, __hneu, __hbneu2)
CPU_DEVICE_HALF_COMPARISON(<, __hlt, __hblt2)
CPU_DEVICE_HALF_COMPARISON(<=, __hle, __hble2)
CPU_DEVICE_HALF_COMPARISON(>, __hgt, __hbgt2)
CPU_DEVICE_HALF_COMPARISON(>=, __hge, __hbge2)
#undef CPU_DEVICE_HALF_COMPARISON
inline __half operator+(const __half& x) { return x; }
inline __half operator-(const __half& x) { return __hneg(x); }
inline __half2 operator+(const __half2& a) { return a; }
inline __half2 operator-(const __half2& a) { return __hneg2(a); }
inline __half& operator++(__half& x) { return x = __hadd(x, __half(1.0F)); }
inline __half& operator--(__half& x) { return x = __hsub(x, __half(1.0F)); }
inline __half operator++(__half& x, int) {
  const __half before = x;
  ++x;
  return before;
}
inline __half operator--(__half& x, int) {
  const __half before = x;
  --x;
  return before;
}

// --- atomics ------------------------------------------------------------------------------------

inline __half atomicAdd(__half* address, __half value) {
  return cpu_device::atomic_update(address, [value](__half old) { return __hadd(old, value); });
}
/// On a GPU each half is updated by itself; here both are at once.
inline __half2 atomicAdd(__half2* address, __half2 value) {
  return cpu_device::atomic_update(address, [value](__half2 old) { return __hadd2(old, value); });
}
