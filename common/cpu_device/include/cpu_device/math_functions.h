// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Device mathematics that <math.h> does not have: CUDA's extra functions at global scope. The
// intrinsics (names that begin with __) are in intrinsics.h.
//
// Everything is noexcept and declared after <math.h>, so that a C library which has such a function
// already (sinpi and rsqrt are on their way into C) declares the same one.
#pragma once

#include <math.h>
#include <stdlib.h>

#include "cpu_device/intrinsics.h"
#include "cpu_device/qualifiers.h"

// --- minimum and maximum ------------------------------------------------------------------------
// The overloads that CUDA has and no others: a mixture that is ambiguous here (int and long long)
// is ambiguous for nvcc, too. Of a number and a NaN, the number is taken.

// Templates, so that a program may define its own: NVIDIA's helper_math.h does where __CUDACC__ is
// not defined, and a function that is no template is preferred.
#define CPU_DEVICE_MIN_MAX(T, A, B)                                                       \
  template <int = 0>                                                                      \
  constexpr T min(A a, B b) {                                                             \
    return static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(b) : static_cast<T>(a); \
  }                                                                                       \
  template <int = 0>                                                                      \
  constexpr T max(A a, B b) {                                                             \
    return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b) : static_cast<T>(a); \
  }
#define CPU_DEVICE_MIN_MAX_OF(SIGNED, UNSIGNED)    \
  CPU_DEVICE_MIN_MAX(SIGNED, SIGNED, SIGNED)       \
  CPU_DEVICE_MIN_MAX(UNSIGNED, UNSIGNED, UNSIGNED) \
  CPU_DEVICE_MIN_MAX(UNSIGNED, SIGNED, UNSIGNED)   \
  CPU_DEVICE_MIN_MAX(UNSIGNED, UNSIGNED, SIGNED)
CPU_DEVICE_MIN_MAX_OF(int, unsigned int)
CPU_DEVICE_MIN_MAX_OF(long, unsigned long)
CPU_DEVICE_MIN_MAX_OF(long long, unsigned long long)
#undef CPU_DEVICE_MIN_MAX_OF
#undef CPU_DEVICE_MIN_MAX

inline float min(float a, float b) { return ::fminf(a, b); }
inline float max(float a, float b) { return ::fmaxf(a, b); }
inline double min(double a, double b) { return ::fmin(a, b); }
inline double max(double a, double b) { return ::fmax(a, b); }
inline double min(float a, double b) { return ::fmin(static_cast<double>(a), b); }
inline double max(float a, double b) { return ::fmax(static_cast<double>(a), b); }
inline double min(double a, float b) { return ::fmin(a, static_cast<double>(b)); }
inline double max(double a, float b) { return ::fmax(a, static_cast<double>(b)); }

constexpr unsigned int umin(unsigned int a, unsigned int b) { return min(a, b); }
constexpr unsigned int umax(unsigned int a, unsigned int b) { return max(a, b); }
constexpr long long llmin(long long a, long long b) { return min(a, b); }
constexpr long long llmax(long long a, long long b) { return max(a, b); }
constexpr unsigned long long ullmin(unsigned long long a, unsigned long long b) {
  return min(a, b);
}
constexpr unsigned long long ullmax(unsigned long long a, unsigned long long b) {
  return max(a, b);
}

// --- computed in double by the library (math.cpp) -----------------------------------------------

namespace cpu_device {
double rcbrt(double x);
double sinpi(double x);
double cospi(double x);
double erfcx(double x);
double erfinv(double x);
double erfcinv(double x);
double normcdf(double x);
double normcdfinv(double x);
double bessel_i0(double x);
double bessel_i1(double x);
double norm(int count, const double* values);
double rnorm(int count, const double* values);
double norm_of_floats(int count, const float* values);
}  // namespace cpu_device

// A function of one number in its three spellings: double f, float ff, and the overload float f.
#define CPU_DEVICE_MATH(NAME, FLOAT_NAME, FUNCTION)                          \
  inline double NAME(double x) noexcept { return cpu_device::FUNCTION(x); }  \
  inline float FLOAT_NAME(float x) noexcept {                                \
    return static_cast<float>(cpu_device::FUNCTION(static_cast<double>(x))); \
  }                                                                          \
  inline float NAME(float x) noexcept { return FLOAT_NAME(x); }
CPU_DEVICE_MATH(rcbrt, rcbrtf, rcbrt)
CPU_DEVICE_MATH(sinpi, sinpif, sinpi)
CPU_DEVICE_MATH(cospi, cospif, cospi)
CPU_DEVICE_MATH(erfcx, erfcxf, erfcx)
CPU_DEVICE_MATH(erfinv, erfinvf, erfinv)
CPU_DEVICE_MATH(erfcinv, erfcinvf, erfcinv)
CPU_DEVICE_MATH(normcdf, normcdff, normcdf)
CPU_DEVICE_MATH(normcdfinv, normcdfinvf, normcdfinv)
CPU_DEVICE_MATH(cyl_bessel_i0, cyl_bessel_i0f, bessel_i0)
CPU_DEVICE_MATH(cyl_bessel_i1, cyl_bessel_i1f, bessel_i1)
#undef CPU_DEVICE_MATH

// --- roots, lengths, angles ---------------------------------------------------------------------

inline double rsqrt(double x) noexcept { return 1.0 / ::sqrt(x); }
template <int = 0>  // as min and max
inline float rsqrtf(float x) noexcept {
  return 1.0F / ::sqrtf(x);
}
inline float rsqrt(float x) noexcept { return rsqrtf(x); }

inline double norm(int count, const double* values) noexcept {
  return cpu_device::norm(count, values);
}
inline double rnorm(int count, const double* values) noexcept {
  return cpu_device::rnorm(count, values);
}
inline double norm3d(double a, double b, double c) noexcept {
  const double v[] = {a, b, c};
  return cpu_device::norm(3, v);
}
inline double rnorm3d(double a, double b, double c) noexcept {
  const double v[] = {a, b, c};
  return cpu_device::rnorm(3, v);
}
inline double norm4d(double a, double b, double c, double d) noexcept {
  const double v[] = {a, b, c, d};
  return cpu_device::norm(4, v);
}
inline double rnorm4d(double a, double b, double c, double d) noexcept {
  const double v[] = {a, b, c, d};
  return cpu_device::rnorm(4, v);
}
inline double rhypot(double a, double b) noexcept {
  const double v[] = {a, b};
  return cpu_device::rnorm(2, v);
}
inline float normf(int count, const float* values) noexcept {
  return static_cast<float>(cpu_device::norm_of_floats(count, values));
}
inline float rnormf(int count, const float* values) noexcept {
  return static_cast<float>(1.0 / cpu_device::norm_of_floats(count, values));
}
inline float norm3df(float a, float b, float c) noexcept {
  const float v[] = {a, b, c};
  return normf(3, v);
}
inline float rnorm3df(float a, float b, float c) noexcept {
  const float v[] = {a, b, c};
  return rnormf(3, v);
}
inline float norm4df(float a, float b, float c, float d) noexcept {
  const float v[] = {a, b, c, d};
  return normf(4, v);
}
inline float rnorm4df(float a, float b, float c, float d) noexcept {
  const float v[] = {a, b, c, d};
  return rnormf(4, v);
}
inline float rhypotf(float a, float b) noexcept {
  const float v[] = {a, b};
  return rnormf(2, v);
}

inline void sincospi(double x, double* s, double* c) noexcept {
  *s = sinpi(x);
  *c = cospi(x);
}
inline void sincospif(float x, float* s, float* c) noexcept {
  *s = sinpif(x);
  *c = cospif(x);
}
inline void sincospi(float x, float* s, float* c) noexcept { sincospif(x, s, c); }

// --- overloads of C's functions, and two divisions ----------------------------------------------

#ifdef __GLIBC__
inline float exp10(float x) noexcept { return ::exp10f(x); }
inline void sincos(float x, float* s, float* c) noexcept { ::sincosf(x, s, c); }
#else
inline double exp10(double x) noexcept { return ::pow(10.0, x); }
inline float exp10f(float x) noexcept { return static_cast<float>(exp10(static_cast<double>(x))); }
inline float exp10(float x) noexcept { return exp10f(x); }
inline void sincos(double x, double* s, double* c) noexcept {
  *s = ::sin(x);
  *c = ::cos(x);
}
inline void sincosf(float x, float* s, float* c) noexcept {
  *s = ::sinf(x);
  *c = ::cosf(x);
}
inline void sincos(float x, float* s, float* c) noexcept { sincosf(x, s, c); }
#endif
inline float j0(float x) noexcept { return ::j0f(x); }
inline float j1(float x) noexcept { return ::j1f(x); }
inline float jn(int n, float x) noexcept { return ::jnf(n, x); }
inline float y0(float x) noexcept { return ::y0f(x); }
inline float y1(float x) noexcept { return ::y1f(x); }
inline float yn(int n, float x) noexcept { return ::ynf(n, x); }

inline double fdivide(double x, double y) noexcept { return x / y; }
inline float fdividef(float x, float y) noexcept { return x / y; }
