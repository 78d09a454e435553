// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What a device makes of the bits of a number of 8 bits or fewer: for on_device()
// (conformance.hpp).
#pragma once

#include <cuda_fp16.h>

namespace conformance {

using byte = unsigned char;

template <class T>
__device__ T made_of(byte bits) {
  T x;
  x.__x = bits;
  return x;
}
template <class T>
struct to_float {
  static __device__ float of(byte bits) { return static_cast<float>(made_of<T>(bits)); }
};
template <class T>
struct through_half {
  static __device__ float of(byte bits) {
    return __half2float(static_cast<__half>(made_of<T>(bits)));
  }
};
template <class T>
struct to_int {
  static __device__ int of(byte bits) { return static_cast<int>(made_of<T>(bits)); }
};
template <class T>
struct to_unsigned_char {
  static __device__ byte of(byte bits) { return static_cast<byte>(made_of<T>(bits)); }
};
template <class T>
struct is_true {
  static __device__ int of(byte bits) { return static_cast<bool>(made_of<T>(bits)) ? 1 : 0; }
};
template <class T, class Through = float>
struct back {
  static __device__ byte of(byte bits) { return T(static_cast<Through>(made_of<T>(bits))).__x; }
};

}  // namespace conformance
