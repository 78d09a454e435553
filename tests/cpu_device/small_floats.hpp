// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Numbers of any type, half and bfloat16 among them, for tests that go through all types.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

namespace conformance {

template <class T>
T converted(double x) {
  if constexpr (std::is_same_v<T, __half>)
    return __double2half(x);
  else if constexpr (std::is_same_v<T, __nv_bfloat16>)
    return __double2bfloat16(x);
  else
    return static_cast<T>(x);
}

template <class T>
double as_double(T x) {
  if constexpr (std::is_same_v<T, __half>)
    return static_cast<double>(__half2float(x));
  else if constexpr (std::is_same_v<T, __nv_bfloat16>)
    return static_cast<double>(__bfloat162float(x));
  else
    return static_cast<double>(x);
}

}  // namespace conformance
