// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// <cmath> and <math.h> without C++20's ::lerp. Many CUDA programs have a lerp of their own
// (NVIDIA's helper_math.h has), which C++17, nvcc's default, allows and C++20 would not. std::lerp
// is there. Comes before any other header: one that has been included already is not changed.
#pragma once

#include <cstddef>  // says whose library it is

#if defined(__GLIBCXX__) && !defined(_GLIBCXX_CMATH) && !defined(lerp)
#define lerp cpu_device_std_lerp
#include <cmath>
// After it, and in this order: it is what brings the names of std to the global namespace.
#include <math.h>
#undef lerp
#if __cplusplus > 201703L
namespace std {
/// A template: where a program says `using namespace std`, a lerp of its own is preferred.
template <class A, class B, class C>
constexpr auto lerp(A a, B b, C t) noexcept -> decltype(cpu_device_std_lerp(a, b, t)) {
  return cpu_device_std_lerp(a, b, t);
}
}  // namespace std
#endif
#else
#include <cmath>
#endif
