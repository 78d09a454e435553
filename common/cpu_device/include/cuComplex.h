// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Complex numbers for kernels and host code: cuFloatComplex is a float2, cuDoubleComplex a double2,
// the real part in x. Names of the float functions end in f.
#pragma once

#include <cmath>

#include "cpu_device/vector_types.h"

typedef float2 cuFloatComplex;

inline cuFloatComplex make_cuFloatComplex(float real, float imaginary) { return {real, imaginary}; }
inline float cuCrealf(cuFloatComplex a) { return a.x; }
inline float cuCimagf(cuFloatComplex a) { return a.y; }
inline cuFloatComplex cuConjf(cuFloatComplex a) { return {a.x, -a.y}; }
inline cuFloatComplex cuCaddf(cuFloatComplex a, cuFloatComplex b) { return {a.x + b.x, a.y + b.y}; }
inline cuFloatComplex cuCsubf(cuFloatComplex a, cuFloatComplex b) { return {a.x - b.x, a.y - b.y}; }
inline cuFloatComplex cuCmulf(cuFloatComplex a, cuFloatComplex b) {
  return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}
/// a * b + c.
inline cuFloatComplex cuCfmaf(cuFloatComplex a, cuFloatComplex b, cuFloatComplex c) {
  return {std::fma(a.x, b.x, std::fma(-a.y, b.y, c.x)),
          std::fma(a.x, b.y, std::fma(a.y, b.x, c.y))};
}
/// Both are first divided by the size of b: squares of large and small numbers stay in range.
inline cuFloatComplex cuCdivf(cuFloatComplex a, cuFloatComplex b) {
  const float size = std::fabs(b.x) + std::fabs(b.y);
  const cuFloatComplex n = {a.x / size, a.y / size}, d = {b.x / size, b.y / size};
  const float square = d.x * d.x + d.y * d.y;
  return {(n.x * d.x + n.y * d.y) / square, (n.y * d.x - n.x * d.y) / square};
}
inline float cuCabsf(cuFloatComplex a) { return std::hypot(a.x, a.y); }

typedef double2 cuDoubleComplex;

inline cuDoubleComplex make_cuDoubleComplex(double real, double imaginary) {
  return {real, imaginary};
}
inline double cuCreal(cuDoubleComplex a) { return a.x; }
inline double cuCimag(cuDoubleComplex a) { return a.y; }
inline cuDoubleComplex cuConj(cuDoubleComplex a) { return {a.x, -a.y}; }
inline cuDoubleComplex cuCadd(cuDoubleComplex a, cuDoubleComplex b) {
  return {a.x + b.x, a.y + b.y};
}
inline cuDoubleComplex cuCsub(cuDoubleComplex a, cuDoubleComplex b) {
  return {a.x - b.x, a.y - b.y};
}
inline cuDoubleComplex cuCmul(cuDoubleComplex a, cuDoubleComplex b) {
  return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}
/// a * b + c.
inline cuDoubleComplex cuCfma(cuDoubleComplex a, cuDoubleComplex b, cuDoubleComplex c) {
  return {std::fma(a.x, b.x, std::fma(-a.y, b.y, c.x)),
          std::fma(a.x, b.y, std::fma(a.y, b.x, c.y))};
}
/// Both are first divided by the size of b: squares of large and small numbers stay in range.
inline cuDoubleComplex cuCdiv(cuDoubleComplex a, cuDoubleComplex b) {
  const double size = std::fabs(b.x) + std::fabs(b.y);
  const cuDoubleComplex n = {a.x / size, a.y / size}, d = {b.x / size, b.y / size};
  const double square = d.x * d.x + d.y * d.y;
  return {(n.x * d.x + n.y * d.y) / square, (n.y * d.x - n.x * d.y) / square};
}
inline double cuCabs(cuDoubleComplex a) { return std::hypot(a.x, a.y); }

typedef cuFloatComplex cuComplex;
inline cuComplex make_cuComplex(float real, float imaginary) { return {real, imaginary}; }
inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex a) { return {a.x, a.y}; }
inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex a) {
  return {static_cast<float>(a.x), static_cast<float>(a.y)};
}
