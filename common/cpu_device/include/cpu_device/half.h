// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The type __half: 16 bits, its conversions, and exact rounding. cuda_fp16.h has the functions.
//
// A half has 11 binary digits. Everything is calculated in double, where the result is exact or so
// close to it that rounding it a second time, to half, gives what one rounding would have given.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "cpu_device/intrinsics.h"
#include "cpu_device/vector_types.h"

namespace cpu_device {

constexpr unsigned short kHalfNan = 0x7FFF;
constexpr unsigned short kHalfInfinity = 0x7C00;
constexpr unsigned short kHalfLargest = 0x7BFF;

inline bool rounds_away(rounding mode, bool negative, double rest, bool odd) {
  switch (mode) {
    case rounding::rn:
      return rest > 0.5 || (rest == 0.5 && odd);
    case rounding::ru:
      return rest > 0 && !negative;
    case rounding::rd:
      return rest > 0 && negative;
    default:
      return false;
  }
}

/// The bits of the half that `x` is rounded to.
inline unsigned short half_bits(double x, rounding mode = rounding::rn) {
  if (x != x) return kHalfNan;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const bool negative = (bits >> 63) != 0;
  const auto sign = static_cast<unsigned short>(negative ? 0x8000 : 0);
  const int exponent = static_cast<int>((bits >> 52) & 0x7FF) - 1023;
  if (exponent > 15) {
    const bool stays =
        x - x == 0 && !(mode == rounding::rn || rounds_away(mode, negative, 1, false));
    return static_cast<unsigned short>(sign | (stays ? kHalfLargest : kHalfInfinity));
  }
  const int base = exponent < -14 ? -14 : exponent;  // below, the digits become fewer
  const double scale = std::bit_cast<double>(static_cast<std::uint64_t>(1023 + 10 - base) << 52);
  const double scaled = (negative ? -x : x) * scale;  // its whole part are the digits of the half
  auto digits = static_cast<unsigned>(scaled);
  if (rounds_away(mode, negative, scaled - digits, (digits & 1) != 0)) ++digits;
  // The leading digit adds one to the exponent, as does a carry; the last carry is infinity.
  return static_cast<unsigned short>(sign | ((static_cast<unsigned>(base + 14) << 10) + digits));
}

inline float half_value(unsigned short bits) {
  const auto magnitude = static_cast<std::uint32_t>(bits & 0x7FFF) << 13;
  auto wide = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112F);
  if ((bits & kHalfInfinity) == kHalfInfinity) wide = magnitude | 0x7F800000U;
  return std::bit_cast<float>(wide | (static_cast<std::uint32_t>(bits & 0x8000) << 16));
}

/// As to_integer(); NaN is 0 as a short integer, too.
template <class Integer, rounding mode>
Integer half_to_integer(float x) {
  if constexpr (sizeof(Integer) < sizeof(int)) {
    using limits = std::numeric_limits<Integer>;
    return static_cast<Integer>(
        std::clamp<int>(to_integer<int, mode>(x), limits::min(), limits::max()));
  } else {
    return to_integer<Integer, mode>(x);
  }
}

/// Where 64 bits are too long for a double, the half is infinite or the largest one anyway.
template <class Integer>
double double_of(Integer x) {
  constexpr auto kExact = static_cast<Integer>(std::uint64_t{1} << (sizeof(Integer) == 8 ? 53 : 0));
  if constexpr (sizeof(Integer) == 8) {
    if (x > kExact) return static_cast<double>(kExact);
    if constexpr (std::numeric_limits<Integer>::is_signed) {
      if (x < -kExact) return -static_cast<double>(kExact);
    }
  }
  return static_cast<double>(x);
}

}  // namespace cpu_device

struct __half_raw {
  unsigned short x;
};

// Conversions that happen by themselves are those of CUDA's own type: to and from every arithmetic
// type. `h * 2.0F` is therefore ambiguous with nvcc, and here, too.
struct __half {
  __half() = default;
  __half(const __half_raw& raw) : __x(raw.x) {}
  __half(float x) : __x(cpu_device::half_bits(static_cast<double>(x))) {}
  __half(double x) : __x(cpu_device::half_bits(x)) {}
  __half(short x) : __half(static_cast<double>(x)) {}
  __half(unsigned short x) : __half(static_cast<double>(x)) {}
  __half(int x) : __half(static_cast<double>(x)) {}
  __half(unsigned int x) : __half(static_cast<double>(x)) {}
  __half(long x) : __half(cpu_device::double_of(x)) {}
  __half(unsigned long x) : __half(cpu_device::double_of(x)) {}
  __half(long long x) : __half(cpu_device::double_of(x)) {}
  __half(unsigned long long x) : __half(cpu_device::double_of(x)) {}

  operator __half_raw() const { return {__x}; }
  operator float() const { return cpu_device::half_value(__x); }
  operator bool() const { return (__x & 0x7FFF) != 0; }
  // Towards zero, as from any floating-point type.
  operator signed char() const { return whole<signed char>(); }
  operator unsigned char() const { return whole<unsigned char>(); }
  operator char() const { return whole<char>(); }
  operator short() const { return whole<short>(); }
  operator unsigned short() const { return whole<unsigned short>(); }
  operator int() const { return whole<int>(); }
  operator unsigned int() const { return whole<unsigned int>(); }
  operator long() const { return whole<long>(); }
  operator unsigned long() const { return whole<unsigned long>(); }
  operator long long() const { return whole<long long>(); }
  operator unsigned long long() const { return whole<unsigned long long>(); }

  unsigned short __x;

 private:
  template <class Integer>
  Integer whole() const {
    return cpu_device::half_to_integer<Integer, cpu_device::rounding::rz>(
        cpu_device::half_value(__x));
  }
};

struct __half2_raw {
  unsigned short x;
  unsigned short y;
};

struct alignas(4) __half2 {
  __half2() = default;
  __half2(const __half& low, const __half& high) : x(low), y(high) {}
  __half2(const __half2_raw& raw) : x(__half_raw{raw.x}), y(__half_raw{raw.y}) {}
  operator __half2_raw() const { return {x.__x, y.__x}; }

  __half x;
  __half y;
};

typedef __half half;
typedef __half2 half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;

namespace cpu_device {

inline __half make_half(unsigned short bits) { return __half_raw{bits}; }
inline __half round_to_half(double x) { return make_half(half_bits(x)); }
inline double wide(__half x) { return static_cast<double>(half_value(x.__x)); }

/// A function of a half as a function of a double, rounded once more.
template <class Function>
__half half_function(__half x, Function function) {
  return round_to_half(function(wide(x)));
}

}  // namespace cpu_device
