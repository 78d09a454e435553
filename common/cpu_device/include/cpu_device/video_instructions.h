// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Arithmetic on the two halves or the four bytes of a word: CUDA's "SIMD intrinsics".
#pragma once

#include <cstdint>
#include <limits>

namespace cpu_device {

/// The word whose parts are the low bits of `f` of the parts of `words`, each taken as a T.
template <class T, class F, class... Word>
constexpr unsigned int in_parts(F f, Word... words) {
  constexpr unsigned int kBits = 8 * sizeof(T), kMask = (1U << kBits) - 1;
  unsigned int result = 0;
  for (unsigned int at = 0; at < 32; at += kBits)
    result |= (static_cast<unsigned int>(f(int{static_cast<T>(words >> at)}...)) & kMask) << at;
  return result;
}

/// The sum of `f` of the parts.
template <class T, class F>
constexpr unsigned int sum_of_parts(F f, unsigned int a, unsigned int b) {
  unsigned int sum = 0;
  for (unsigned int at = 0; at < 32; at += 8 * sizeof(T))
    sum += static_cast<unsigned int>(f(int{static_cast<T>(a >> at)}, int{static_cast<T>(b >> at)}));
  return sum;
}

template <class T>
constexpr int saturated(int x) {
  constexpr int kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
  return x < kLow ? kLow : x > kHigh ? kHigh : x;
}

constexpr int distance(int x, int y) { return x < y ? y - x : x - y; }
constexpr int magnitude(int x) { return x < 0 ? -x : x; }

}  // namespace cpu_device

// In the expressions, x and y are parts of the two words.
#define CPU_DEVICE_PARTS_1(NAME, T, ...)                                  \
  constexpr unsigned int NAME(unsigned int a) {                           \
    return cpu_device::in_parts<T>([](int x) { return __VA_ARGS__; }, a); \
  }
#define CPU_DEVICE_PARTS_2(NAME, T, ...)                                            \
  constexpr unsigned int NAME(unsigned int a, unsigned int b) {                     \
    return cpu_device::in_parts<T>([](int x, int y) { return __VA_ARGS__; }, a, b); \
  }
// All ones (cmp) or one (set) where it holds.
#define CPU_DEVICE_PARTS_COMPARE(NAME, T, OP)          \
  CPU_DEVICE_PARTS_2(__vcmp##NAME, T, x OP y ? -1 : 0) \
  CPU_DEVICE_PARTS_2(__vset##NAME, T, x OP y ? 1 : 0)
#define CPU_DEVICE_PARTS_COMPARE_BOTH(NAME, N, S, U, OP) \
  CPU_DEVICE_PARTS_COMPARE(NAME##s##N, S, OP)            \
  CPU_DEVICE_PARTS_COMPARE(NAME##u##N, U, OP)

// Of N parts, which are an S if they have a sign and a U if not.
#define CPU_DEVICE_PARTS(N, S, U)                                                        \
  CPU_DEVICE_PARTS_1(__vabs##N, S, cpu_device::magnitude(x))                             \
  CPU_DEVICE_PARTS_1(__vabsss##N, S, cpu_device::saturated<S>(cpu_device::magnitude(x))) \
  CPU_DEVICE_PARTS_1(__vneg##N, S, -x)                                                   \
  CPU_DEVICE_PARTS_1(__vnegss##N, S, cpu_device::saturated<S>(-x))                       \
  CPU_DEVICE_PARTS_2(__vadd##N, U, x + y)                                                \
  CPU_DEVICE_PARTS_2(__vaddss##N, S, cpu_device::saturated<S>(x + y))                    \
  CPU_DEVICE_PARTS_2(__vaddus##N, U, cpu_device::saturated<U>(x + y))                    \
  CPU_DEVICE_PARTS_2(__vsub##N, U, x - y)                                                \
  CPU_DEVICE_PARTS_2(__vsubss##N, S, cpu_device::saturated<S>(x - y))                    \
  CPU_DEVICE_PARTS_2(__vsubus##N, U, cpu_device::saturated<U>(x - y))                    \
  /* averages: rounded away from zero, and down */                                       \
  CPU_DEVICE_PARTS_2(__vavgs##N, S, (x + y + (x + y >= 0 ? 1 : 0)) >> 1)                 \
  CPU_DEVICE_PARTS_2(__vavgu##N, U, (x + y + 1) >> 1)                                    \
  CPU_DEVICE_PARTS_2(__vhaddu##N, U, (x + y) >> 1)                                       \
  CPU_DEVICE_PARTS_2(__vmins##N, S, x < y ? x : y)                                       \
  CPU_DEVICE_PARTS_2(__vminu##N, U, x < y ? x : y)                                       \
  CPU_DEVICE_PARTS_2(__vmaxs##N, S, x < y ? y : x)                                       \
  CPU_DEVICE_PARTS_2(__vmaxu##N, U, x < y ? y : x)                                       \
  CPU_DEVICE_PARTS_2(__vabsdiffs##N, S, cpu_device::distance(x, y))                      \
  CPU_DEVICE_PARTS_2(__vabsdiffu##N, U, cpu_device::distance(x, y))                      \
  constexpr unsigned int __vsads##N(unsigned int a, unsigned int b) {                    \
    return cpu_device::sum_of_parts<S>(&cpu_device::distance, a, b);                     \
  }                                                                                      \
  constexpr unsigned int __vsadu##N(unsigned int a, unsigned int b) {                    \
    return cpu_device::sum_of_parts<U>(&cpu_device::distance, a, b);                     \
  }                                                                                      \
  CPU_DEVICE_PARTS_COMPARE(eq##N, U, ==)                                                 \
  CPU_DEVICE_PARTS_COMPARE(ne##N, U, !=)                                                 \
  CPU_DEVICE_PARTS_COMPARE_BOTH(lt, N, S, U, <)                                          \
  CPU_DEVICE_PARTS_COMPARE_BOTH(le, N, S, U, <=)                                         \
  CPU_DEVICE_PARTS_COMPARE_BOTH(gt, N, S, U, >)                                          \
  CPU_DEVICE_PARTS_COMPARE_BOTH(ge, N, S, U, >=)
CPU_DEVICE_PARTS(2, std::int16_t, std::uint16_t)
CPU_DEVICE_PARTS(4, std::int8_t, std::uint8_t)
#undef CPU_DEVICE_PARTS
#undef CPU_DEVICE_PARTS_COMPARE_BOTH
#undef CPU_DEVICE_PARTS_COMPARE
#undef CPU_DEVICE_PARTS_2
#undef CPU_DEVICE_PARTS_1
