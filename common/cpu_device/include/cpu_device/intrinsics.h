// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The intrinsics of device code: fast approximations, arithmetic with a chosen rounding,
// conversions, bit functions.
#pragma once

#include <math.h>

#include <cstdint>
#include <limits>
#include <type_traits>

#include "cpu_device/qualifiers.h"

namespace cpu_device {

/// CUDA's four roundings: to nearest (ties to even), towards zero, up, down.
enum class rounding { rn, rz, ru, rd };

// --- rounding a float in any direction ----------------------------------------------------------
// A double has more than twice the digits of a float. So the exact result of a float operation is
// kept as a double that was "rounded to odd": if digits had to be dropped, the last digit kept is a
// 1. Rounding that once more, in any direction, gives what rounding the exact result gives.

/// The neighbour of x upwards or downwards.
inline double step(double x, bool up) {
  if (x == 0) return up ? 0x1p-1074 : -0x1p-1074;
  const auto bits = __builtin_bit_cast(std::int64_t, x);
  return __builtin_bit_cast(double, (x > 0) == up ? bits + 1 : bits - 1);
}
inline float step(float x, bool up) {
  if (x == 0) return up ? 0x1p-149F : -0x1p-149F;
  const auto bits = __builtin_bit_cast(std::int32_t, x);
  return __builtin_bit_cast(float, (x > 0) == up ? bits + 1 : bits - 1);
}

/// What was left out of a nearest sum: a + b == sum + error, exactly.
inline double sum_error(double a, double b, double sum) {
  const double b_part = sum - a;
  return (a - (sum - b_part)) + (b - b_part);
}

/// nearest + error, rounded to odd; only the sign of `error` matters.
inline double to_odd(double nearest, double error) {
  if (error == 0 || (__builtin_bit_cast(std::uint64_t, nearest) & 1U) != 0 ||
      nearest - nearest != 0)
    return nearest;
  return step(nearest, error > 0);
}

/// Does this rounding take a positive (negative) value to the neighbour above it?
constexpr bool goes_up(rounding mode, bool positive) {
  return mode == rounding::ru || (mode == rounding::rz && !positive);
}

/// nearest + error, rounded; only the sign of `error` matters.
inline double adjust(double nearest, double error, rounding mode) {
  if (mode == rounding::rn || error == 0) return nearest;
  const bool positive = nearest > 0 || (nearest == 0 && error > 0);
  const bool up = goes_up(mode, positive);
  return up == (error > 0) ? step(nearest, up) : nearest;
}

/// A double as a float.
inline float narrow(double x, rounding mode) {
  const float nearest = static_cast<float>(x);
  if (mode == rounding::rn || x != x) return nearest;
  const double back = static_cast<double>(nearest);
  const bool up = goes_up(mode, x > 0);
  if (up ? back < x : back > x) return step(nearest, up);
  return nearest;
}

/// Zero as a sum: x - x is -0 when rounding down, +0 otherwise.
inline double zero_sum(double a, double b, double sum, rounding mode) {
  if (sum != 0 || mode != rounding::rd) return sum;
  return ::signbit(a) || ::signbit(b) ? -0.0 : 0.0;
}

inline float add(float x, float y, rounding mode) {
  const double a = static_cast<double>(x), b = static_cast<double>(y), sum = a + b;
  return narrow(zero_sum(a, b, to_odd(sum, sum_error(a, b, sum)), mode), mode);
}
inline float multiply(float x, float y, rounding mode) {
  return narrow(static_cast<double>(x) * static_cast<double>(y), mode);  // 48 digits: exact
}
inline float multiply_add(float x, float y, float z, rounding mode) {
  const double a = static_cast<double>(x) * static_cast<double>(y);  // exact
  const double b = static_cast<double>(z), sum = a + b;
  return narrow(zero_sum(a, b, to_odd(sum, sum_error(a, b, sum)), mode), mode);
}
// The quotient of two floats, or the root of one, is a float or farther from every float than a
// double's rounding reaches.
inline float divide(float x, float y, rounding mode) {
  return narrow(static_cast<double>(x) / static_cast<double>(y), mode);
}
inline float square_root(float x, rounding mode) {
  return narrow(::sqrt(static_cast<double>(x)), mode);
}
/// 1 / sqrt(x) to nearest. The double is within an ulp, so only where it lies close to the middle
/// between two floats can its rounding go wrong. The side is found by squaring that middle.
inline float reciprocal_square_root(float x) {
  const double a = static_cast<double>(x), y = 1.0 / ::sqrt(a);
  const float nearest = static_cast<float>(y);
  const double back = static_cast<double>(nearest);
  if (!(a > 0) || y - y != 0 || y == back) return nearest;
  const float other = step(nearest, y > back);
  const double middle = (back + static_cast<double>(other)) / 2;
  const bool above = ::fma(a, middle * middle, -1.0) < 0;  // is the exact result above the middle?
  return above == (y > back) ? other : nearest;
}

// Doubles have no wider type to be computed in: the library sets the processor's rounding.
double add(double x, double y, rounding mode);
double multiply(double x, double y, rounding mode);
double multiply_add(double x, double y, double z, rounding mode);
double divide(double x, double y, rounding mode);
double square_root(double x, rounding mode);

// --- fast approximations ------------------------------------------------------------------------
// A GPU computes these in its special function units, with fewer digits than the full functions.
// Here the same steps are taken: a float multiplication by a rounded constant turns radians into
// turns, or powers of e into powers of 2; an angle is then kept in steps of 2^-25 turns, the
// logarithm to base 2 in steps of 2^-22. So the errors are of the order that is documented (and was
// measured on an H200), and grow with |x| as they do there:
//   __sinf, __cosf    in [-pi, pi] at most 2^-21.41 and 2^-21.19, absolute; larger outside
//   __expf, __exp10f  2 + |1.173 x| and 2 + |2.97 x| ulp
//   __log2f, __logf, __log10f   in [0.5, 2] 2^-22, 2^-21.41, 2^-24, absolute; else 2, 3, 3 ulp
//   __fdividef        2 ulp for 2^-126 <= |y| <= 2^126; beyond that, 0
//   __tanhf           2^-16, relative
// The bits are not those of a GPU.

/// sin(2 pi t) for |t| <= 1/4.
inline float sine_of_turns(float t) {
  const float u = t * t;
  float p = 39.759827F;
  p = p * u - 76.581173F;
  p = p * u + 81.602476F;
  p = p * u - 41.341681F;
  p = p * u + 6.2831853F;
  return p * t;
}
/// x in turns, less the whole ones: within [-1/2, 1/2], in steps of 2^-25.
inline float turns(float x) {
  const float t = x * 0.15915494F;
  return ::rintf((t - ::rintf(t)) * 0x1p25F) * 0x1p-25F;
}
inline float fast_sine(float x) {
  const float t = turns(x);
  if (t > 0.25F) return sine_of_turns(0.5F - t);
  if (t < -0.25F) return sine_of_turns(-0.5F - t);
  return sine_of_turns(t);
}
inline float fast_cosine(float x) { return sine_of_turns(0.25F - ::fabsf(turns(x))); }

/// 2 to the power x.
inline float fast_exp2(float x) {
  if (!(x > -160.0F)) return x != x ? x : 0.0F;
  if (x > 160.0F) return std::numeric_limits<float>::infinity();
  const float whole = ::rintf(x);
  const float t = x - whole;
  float p = 1.5461444e-4F;
  p = p * t + 1.3400428e-3F;
  p = p * t + 9.6180567e-3F;
  p = p * t + 5.5503273e-2F;
  p = p * t + 2.4022651e-1F;
  p = p * t + 6.9314721e-1F;
  p = p * t + 1.0F;
  const auto exponent = static_cast<std::int64_t>(whole) + 1023;
  return static_cast<float>(static_cast<double>(p) * __builtin_bit_cast(double, exponent << 52));
}

/// The logarithm to base 2, with 22 binary places before the exponent is added.
inline double fast_log2(float x) {
  if (!(x > 0.0F) || x - x != 0.0F) {
    if (x == 0.0F) return -std::numeric_limits<double>::infinity();
    return x > 0.0F ? static_cast<double>(x) : std::numeric_limits<double>::quiet_NaN();
  }
  const auto bits = __builtin_bit_cast(std::int64_t, static_cast<double>(x));
  std::int64_t exponent = (bits >> 52) - 1023;
  double m = __builtin_bit_cast(double, (bits & 0xfffffffffffff) | 0x3ff0000000000000);
  if (m > 1.4142135623730951) {
    m /= 2;
    ++exponent;
  }
  const double s = (m - 1) / (m + 1), u = s * s;
  const double p =
      s * (2.8853900817779268 +
           u * (0.96179669392597561 +
                u * (0.57707801635558536 + u * (0.41219858311113240 + u * 0.32059889797532520))));
  return static_cast<double>(exponent) + ::rint(p * 0x1p22) * 0x1p-22;
}

// --- conversions --------------------------------------------------------------------------------

template <rounding mode, class T>
T round_to_whole(T x) {
  if constexpr (mode == rounding::rn) return std::rint(x);
  if constexpr (mode == rounding::rz) return std::trunc(x);
  if constexpr (mode == rounding::ru) return std::ceil(x);
  if constexpr (mode == rounding::rd) return std::floor(x);
}

/// A whole number; what lies outside the type becomes its nearest end. Not a number becomes 0 when
/// both types have at most 32 bits, and otherwise the integer of which only the highest bit is 1.
template <class I, rounding mode, class T>
I to_integer(T x) {
  const T whole = round_to_whole<mode>(x);
  if (whole != whole)
    return sizeof(T) == 4 && sizeof(I) == 4
               ? I{0}
               : static_cast<I>(std::uint64_t{1} << (sizeof(I) * 8 - 1));
  constexpr T kEnd = static_cast<T>(std::is_signed_v<I> ? 0x1p31 : 0x1p32) *
                     static_cast<T>(sizeof(I) == 8 ? 0x1p32 : 1.0);  // the first one too large
  if (whole >= kEnd) return std::numeric_limits<I>::max();
  if (whole < (std::is_signed_v<I> ? -kEnd : T{0})) return std::numeric_limits<I>::min();
  return static_cast<I>(whole);
}

/// An integer as a double, and the sign of what that leaves out.
template <class I>
double from_integer(I x, double& error) {
  const I low = x & I{2047};
  const double a = static_cast<double>(x - low), b = static_cast<double>(low), sum = a + b;
  error = sum_error(a, b, sum);
  return sum;
}
template <class I>
float to_float(I x, rounding mode) {
  double error = 0;
  const double nearest = from_integer(x, error);
  return narrow(to_odd(nearest, error), mode);
}
template <class I>
double to_double(I x, rounding mode) {
  double error = 0;
  const double nearest = from_integer(x, error);
  return adjust(nearest, error, mode);
}

}  // namespace cpu_device

// --- fast approximations ------------------------------------------------------------------------
// The C library may declare functions of some of these names; noexcept makes them the same ones.

inline float __sinf(float x) noexcept { return cpu_device::fast_sine(x); }
inline float __cosf(float x) noexcept { return cpu_device::fast_cosine(x); }
inline void __sincosf(float x, float* s, float* c) noexcept {
  *s = cpu_device::fast_sine(x);
  *c = cpu_device::fast_cosine(x);
}
inline float __fdividef(float x, float y) noexcept {
  float reciprocal = 1.0F / y;
  if (::fabsf(reciprocal) < 0x1p-126F) reciprocal = ::copysignf(0.0F, reciprocal);
  return x * reciprocal;
}
inline float __tanf(float x) noexcept { return __fdividef(__sinf(x), __cosf(x)); }
inline float __tanhf(float x) noexcept {
  const float y = ::tanhf(x);
  if (y != y) return y;
  // Sixteen digits: half a unit of the last one is added, then the rest is cut off.
  return __builtin_bit_cast(float, (__builtin_bit_cast(std::uint32_t, y) + 0x80U) & 0xffffff00U);
}
inline float __expf(float x) noexcept { return cpu_device::fast_exp2(x * 1.4426950F); }
inline float __exp10f(float x) noexcept { return cpu_device::fast_exp2(x * 3.3219281F); }
inline float __log2f(float x) noexcept { return static_cast<float>(cpu_device::fast_log2(x)); }
inline float __logf(float x) noexcept {
  return static_cast<float>(cpu_device::fast_log2(x) * 0.6931471805599453);
}
inline float __log10f(float x) noexcept {
  return static_cast<float>(cpu_device::fast_log2(x) * 0.3010299956639812);
}
inline float __powf(float x, float y) noexcept { return cpu_device::fast_exp2(y * __log2f(x)); }
inline float __saturatef(float x) noexcept {
  return x > 0.0F ? (x < 1.0F ? x : 1.0F) : 0.0F;  // not a number becomes 0
}

// --- arithmetic with a chosen rounding ----------------------------------------------------------
// The _rn forms are one rounding each and are never merged into a fused multiply-add, also where
// a*b+c is (LAB_CONTRACT).

namespace cpu_device {
/// A value that the compiler takes as it is: in a build with contraction, a product would become
/// part of the sum that it goes into.
template <class T>
T rounded(T value) {
#if defined(__x86_64__) && defined(__FMA__)
  __asm__("" : "+x"(value));
#elif defined(__aarch64__)
  __asm__("" : "+w"(value));
#endif
  return value;
}
}  // namespace cpu_device

inline float __fadd_rn(float x, float y) { return cpu_device::rounded(x) + cpu_device::rounded(y); }
inline float __fsub_rn(float x, float y) { return cpu_device::rounded(x) - cpu_device::rounded(y); }
inline float __fmul_rn(float x, float y) { return cpu_device::rounded(x * y); }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __frcp_rn(float x) { return 1.0F / x; }
inline float __fsqrt_rn(float x) { return ::sqrtf(x); }
inline float __fmaf_rn(float x, float y, float z) { return ::fmaf(x, y, z); }
inline float __frsqrt_rn(float x) { return cpu_device::reciprocal_square_root(x); }
inline double __dadd_rn(double x, double y) {
  return cpu_device::rounded(x) + cpu_device::rounded(y);
}
inline double __dsub_rn(double x, double y) {
  return cpu_device::rounded(x) - cpu_device::rounded(y);
}
inline double __dmul_rn(double x, double y) { return cpu_device::rounded(x * y); }
inline double __ddiv_rn(double x, double y) { return x / y; }
inline double __drcp_rn(double x) { return 1.0 / x; }
inline double __dsqrt_rn(double x) { return ::sqrt(x); }
inline double __fma_rn(double x, double y, double z) { return ::fma(x, y, z); }

#define CPU_DEVICE_ROUNDED(M)                                          \
  inline float __fadd_##M(float x, float y) {                          \
    return cpu_device::add(x, y, cpu_device::rounding::M);             \
  }                                                                    \
  inline float __fsub_##M(float x, float y) {                          \
    return cpu_device::add(x, -y, cpu_device::rounding::M);            \
  }                                                                    \
  inline float __fmul_##M(float x, float y) {                          \
    return cpu_device::multiply(x, y, cpu_device::rounding::M);        \
  }                                                                    \
  inline float __fdiv_##M(float x, float y) {                          \
    return cpu_device::divide(x, y, cpu_device::rounding::M);          \
  }                                                                    \
  inline float __frcp_##M(float x) {                                   \
    return cpu_device::divide(1.0F, x, cpu_device::rounding::M);       \
  }                                                                    \
  inline float __fsqrt_##M(float x) {                                  \
    return cpu_device::square_root(x, cpu_device::rounding::M);        \
  }                                                                    \
  inline float __fmaf_##M(float x, float y, float z) {                 \
    return cpu_device::multiply_add(x, y, z, cpu_device::rounding::M); \
  }                                                                    \
  inline double __dadd_##M(double x, double y) {                       \
    return cpu_device::add(x, y, cpu_device::rounding::M);             \
  }                                                                    \
  inline double __dsub_##M(double x, double y) {                       \
    return cpu_device::add(x, -y, cpu_device::rounding::M);            \
  }                                                                    \
  inline double __dmul_##M(double x, double y) {                       \
    return cpu_device::multiply(x, y, cpu_device::rounding::M);        \
  }                                                                    \
  inline double __ddiv_##M(double x, double y) {                       \
    return cpu_device::divide(x, y, cpu_device::rounding::M);          \
  }                                                                    \
  inline double __drcp_##M(double x) {                                 \
    return cpu_device::divide(1.0, x, cpu_device::rounding::M);        \
  }                                                                    \
  inline double __dsqrt_##M(double x) {                                \
    return cpu_device::square_root(x, cpu_device::rounding::M);        \
  }                                                                    \
  inline double __fma_##M(double x, double y, double z) {              \
    return cpu_device::multiply_add(x, y, z, cpu_device::rounding::M); \
  }
CPU_DEVICE_ROUNDED(rz)
CPU_DEVICE_ROUNDED(ru)
CPU_DEVICE_ROUNDED(rd)
#undef CPU_DEVICE_ROUNDED

// The _ieee_ forms ignore -ftz=true; denormals are never flushed here.
inline float __fmaf_ieee_rn(float x, float y, float z) { return __fmaf_rn(x, y, z); }
inline float __fmaf_ieee_rz(float x, float y, float z) { return __fmaf_rz(x, y, z); }
inline float __fmaf_ieee_ru(float x, float y, float z) { return __fmaf_ru(x, y, z); }
inline float __fmaf_ieee_rd(float x, float y, float z) { return __fmaf_rd(x, y, z); }

// --- conversions --------------------------------------------------------------------------------

#define CPU_DEVICE_CONVERSIONS(M)                             \
  inline float __double2float_##M(double x) {                 \
    return cpu_device::narrow(x, cpu_device::rounding::M);    \
  }                                                           \
  CPU_DEVICE_CONVERSIONS_OF(int, int, M)                      \
  CPU_DEVICE_CONVERSIONS_OF(unsigned int, uint, M)            \
  CPU_DEVICE_CONVERSIONS_OF(long long, ll, M)                 \
  CPU_DEVICE_CONVERSIONS_OF(unsigned long long, ull, M)       \
  inline double __ll2double_##M(long long x) {                \
    return cpu_device::to_double(x, cpu_device::rounding::M); \
  }                                                           \
  inline double __ull2double_##M(unsigned long long x) {      \
    return cpu_device::to_double(x, cpu_device::rounding::M); \
  }
#define CPU_DEVICE_CONVERSIONS_OF(I, NAME, M)                     \
  inline I __float2##NAME##_##M(float x) {                        \
    return cpu_device::to_integer<I, cpu_device::rounding::M>(x); \
  }                                                               \
  inline I __double2##NAME##_##M(double x) {                      \
    return cpu_device::to_integer<I, cpu_device::rounding::M>(x); \
  }                                                               \
  inline float __##NAME##2float_##M(I x) {                        \
    return cpu_device::to_float(x, cpu_device::rounding::M);      \
  }
CPU_DEVICE_CONVERSIONS(rn)
CPU_DEVICE_CONVERSIONS(rz)
CPU_DEVICE_CONVERSIONS(ru)
CPU_DEVICE_CONVERSIONS(rd)
#undef CPU_DEVICE_CONVERSIONS
#undef CPU_DEVICE_CONVERSIONS_OF

inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned int x) { return x; }

inline int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
inline unsigned int __float_as_uint(float x) { return __builtin_bit_cast(unsigned int, x); }
inline float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
inline float __uint_as_float(unsigned int x) { return __builtin_bit_cast(float, x); }
inline long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
inline double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
inline int __double2hiint(double x) {
  return static_cast<int>(__builtin_bit_cast(std::int64_t, x) >> 32);
}
inline int __double2loint(double x) {
  return static_cast<int>(__builtin_bit_cast(std::int64_t, x));
}
inline double __hiloint2double(int hi, int lo) {
  return __builtin_bit_cast(
      double, std::uint64_t{static_cast<std::uint32_t>(hi)} << 32 | static_cast<std::uint32_t>(lo));
}

// --- integers -----------------------------------------------------------------------------------

inline int __mulhi(int x, int y) {
  return static_cast<int>((std::int64_t{x} * std::int64_t{y}) >> 32);
}
inline unsigned int __umulhi(unsigned int x, unsigned int y) {
  return static_cast<unsigned int>((std::uint64_t{x} * y) >> 32);
}
inline long long __mul64hi(long long x, long long y) {
  __extension__ typedef __int128 wide;
  return static_cast<long long>((static_cast<wide>(x) * y) >> 64);
}
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  __extension__ typedef unsigned __int128 wide;
  return static_cast<unsigned long long>((static_cast<wide>(x) * y) >> 64);
}
/// The low 32 bits of the product of two 24-bit numbers; higher bits are not looked at.
inline unsigned int __umul24(unsigned int x, unsigned int y) {
  return (x & 0xffffffU) * (y & 0xffffffU);
}
inline int __mul24(int x, int y) {
  const auto low = [](int v) { return static_cast<int>(static_cast<unsigned>(v) << 8) >> 8; };
  return static_cast<int>(std::int64_t{low(x)} * low(y));
}
inline unsigned int __usad(unsigned int x, unsigned int y, unsigned int z) {
  return (x > y ? x - y : y - x) + z;
}
inline unsigned int __sad(int x, int y, unsigned int z) {
  const auto a = static_cast<unsigned>(x), b = static_cast<unsigned>(y);
  return (x > y ? a - b : b - a) + z;
}
inline int __hadd(int x, int y) { return static_cast<int>((std::int64_t{x} + y) >> 1); }
inline int __rhadd(int x, int y) { return static_cast<int>((std::int64_t{x} + y + 1) >> 1); }
inline unsigned int __uhadd(unsigned int x, unsigned int y) {
  return static_cast<unsigned int>((std::uint64_t{x} + y) >> 1);
}
inline unsigned int __urhadd(unsigned int x, unsigned int y) {
  return static_cast<unsigned int>((std::uint64_t{x} + y + 1) >> 1);
}

inline int __popc(unsigned int x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned int>(x)); }
inline int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned int __brev(unsigned int x) {
  x = (x >> 1 & 0x55555555U) | (x & 0x55555555U) << 1;
  x = (x >> 2 & 0x33333333U) | (x & 0x33333333U) << 2;
  x = (x >> 4 & 0x0f0f0f0fU) | (x & 0x0f0f0f0fU) << 4;
  return __builtin_bswap32(x);
}
inline unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned int>(x))) << 32 |
         __brev(static_cast<unsigned int>(x >> 32));
}
/// Four of the eight bytes of y:x; each digit of the selector (its lower three bits) names one.
inline unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int selector) {
  const std::uint64_t bytes = std::uint64_t{y} << 32 | x;
  unsigned int result = 0;
  for (unsigned int i = 0; i < 4; ++i) {
    const unsigned int from = selector >> (4 * i) & 7U;
    result |= static_cast<unsigned int>(bytes >> (8 * from) & 0xffU) << (8 * i);
  }
  return result;
}
// Shifts of the 64 bits hi:lo; _l gives the upper half, _r the lower half. The distance is taken
// modulo 32, or (_lc, _rc) is at most 32.
inline unsigned int __funnelshift_l(unsigned int lo, unsigned int hi, unsigned int shift) {
  return static_cast<unsigned int>((std::uint64_t{hi} << 32 | lo) << (shift & 31U) >> 32);
}
inline unsigned int __funnelshift_lc(unsigned int lo, unsigned int hi, unsigned int shift) {
  return shift >= 32 ? lo : __funnelshift_l(lo, hi, shift);
}
inline unsigned int __funnelshift_r(unsigned int lo, unsigned int hi, unsigned int shift) {
  return static_cast<unsigned int>((std::uint64_t{hi} << 32 | lo) >> (shift & 31U));
}
inline unsigned int __funnelshift_rc(unsigned int lo, unsigned int hi, unsigned int shift) {
  return shift >= 32 ? hi : __funnelshift_r(lo, hi, shift);
}

namespace cpu_device {
/// c + the products of the four bytes of a and b, each taken as an A or B.
template <class A, class B, class C>
C dot_of_bytes(unsigned int a, unsigned int b, C c) {
  auto sum = static_cast<unsigned int>(c);
  for (unsigned int i = 0; i < 32; i += 8)
    sum += static_cast<unsigned int>(int{static_cast<A>(a >> i)} * int{static_cast<B>(b >> i)});
  return static_cast<C>(sum);
}
}  // namespace cpu_device
inline int __dp4a(int a, int b, int c) {
  return cpu_device::dot_of_bytes<signed char, signed char>(static_cast<unsigned>(a),
                                                            static_cast<unsigned>(b), c);
}
inline unsigned int __dp4a(unsigned int a, unsigned int b, unsigned int c) {
  return cpu_device::dot_of_bytes<unsigned char, unsigned char>(a, b, c);
}
