// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// CUDA's vector types and dim3, with the sizes and alignments that CUDA gives them.
#pragma once

#include "cpu_device/qualifiers.h"

// One element type T named BASE: BASE1 .. BASE4 and make_BASE1 .. make_BASE4.
// ALIGN2 and ALIGN4 are the alignments of the two- and four-element types; the one- and
// three-element types are aligned as their element is.
#define CPU_DEVICE_VECTOR(T, BASE, ALIGN2, ALIGN4)                                               \
  typedef struct BASE##1 {                                                                       \
    T x;                                                                                         \
  }                                                                                              \
  BASE##1;                                                                                       \
  typedef struct __align__(ALIGN2) BASE##2 {                                                     \
    T x, y;                                                                                      \
  }                                                                                              \
  BASE##2;                                                                                       \
  typedef struct BASE##3 {                                                                       \
    T x, y, z;                                                                                   \
  }                                                                                              \
  BASE##3;                                                                                       \
  typedef struct __align__(ALIGN4) BASE##4 {                                                     \
    T x, y, z, w;                                                                                \
  }                                                                                              \
  BASE##4;                                                                                       \
  CPU_DEVICE_INLINE BASE##1 make_##BASE##1(T x) { return CPU_DEVICE_VALUE(BASE##1, x); }         \
  CPU_DEVICE_INLINE BASE##2 make_##BASE##2(T x, T y) { return CPU_DEVICE_VALUE(BASE##2, x, y); } \
  CPU_DEVICE_INLINE BASE##3 make_##BASE##3(T x, T y, T z) {                                      \
    return CPU_DEVICE_VALUE(BASE##3, x, y, z);                                                   \
  }                                                                                              \
  CPU_DEVICE_INLINE BASE##4 make_##BASE##4(T x, T y, T z, T w) {                                 \
    return CPU_DEVICE_VALUE(BASE##4, x, y, z, w);                                                \
  }

CPU_DEVICE_VECTOR(signed char, char, 2, 4)
CPU_DEVICE_VECTOR(unsigned char, uchar, 2, 4)
CPU_DEVICE_VECTOR(short, short, 4, 8)
CPU_DEVICE_VECTOR(unsigned short, ushort, 4, 8)
CPU_DEVICE_VECTOR(int, int, 8, 16)
CPU_DEVICE_VECTOR(unsigned int, uint, 8, 16)
CPU_DEVICE_VECTOR(long, long, 16, 16)
CPU_DEVICE_VECTOR(unsigned long, ulong, 16, 16)
CPU_DEVICE_VECTOR(long long, longlong, 16, 16)
CPU_DEVICE_VECTOR(unsigned long long, ulonglong, 16, 16)
CPU_DEVICE_VECTOR(float, float, 8, 16)
CPU_DEVICE_VECTOR(double, double, 16, 16)
#undef CPU_DEVICE_VECTOR

// CUDA 13's four-element types of eight-byte elements, with the alignment in the name.
#define CPU_DEVICE_ALIGNED_VECTOR(T, NAME, ALIGN)                                    \
  typedef struct __align__(ALIGN) NAME##_##ALIGN##a {                                \
    T x, y, z, w;                                                                    \
  }                                                                                  \
  NAME##_##ALIGN##a;                                                                 \
  CPU_DEVICE_INLINE NAME##_##ALIGN##a make_##NAME##_##ALIGN##a(T x, T y, T z, T w) { \
    return CPU_DEVICE_VALUE(NAME##_##ALIGN##a, x, y, z, w);                          \
  }

CPU_DEVICE_ALIGNED_VECTOR(long, long4, 16)
CPU_DEVICE_ALIGNED_VECTOR(long, long4, 32)
CPU_DEVICE_ALIGNED_VECTOR(unsigned long, ulong4, 16)
CPU_DEVICE_ALIGNED_VECTOR(unsigned long, ulong4, 32)
CPU_DEVICE_ALIGNED_VECTOR(long long, longlong4, 16)
CPU_DEVICE_ALIGNED_VECTOR(long long, longlong4, 32)
CPU_DEVICE_ALIGNED_VECTOR(unsigned long long, ulonglong4, 16)
CPU_DEVICE_ALIGNED_VECTOR(unsigned long long, ulonglong4, 32)
CPU_DEVICE_ALIGNED_VECTOR(double, double4, 16)
CPU_DEVICE_ALIGNED_VECTOR(double, double4, 32)
#undef CPU_DEVICE_ALIGNED_VECTOR

/// Extents of a grid or a block. What is not given is 1.
typedef struct dim3 {
#ifdef __cplusplus
  unsigned int x = 1, y = 1, z = 1;
  constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1)  // NOLINT: implicit
      : x(vx), y(vy), z(vz) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}  // NOLINT: implicit, as in CUDA
  constexpr operator uint3() const { return {x, y, z}; }
#else
  unsigned int x, y, z;
#endif
} dim3;
