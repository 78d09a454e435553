// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 14.1 bitonic_sort: what bitonic_sort.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstddef>

#include "bitonic_sort.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/time_kernel.hpp"

namespace lab::bitonic_sort {

/// What all kernels are told about the data.
struct arrays_on_device {
  unsigned* keys;
  unsigned* values;  // null where there are only keys
  std::size_t n;     // elements of all arrays together
  unsigned length;   // of an array: a power of two
  bool descending;   // what the caller asked for
};

/// `number` with `zeros` bits that are 0 put in at bit `at`: the number's upper bits move up.
/// With one zero: the left end of comparator `number` of the stage `at`.
template <class Number>
__host__ __device__ constexpr Number with_zeros(Number number, unsigned at, unsigned zeros) {
  const Number lower = number & ((Number{1} << at) - 1);
  return ((number ^ lower) << zeros) | lower;
}

/// Blocks for n elements, of which each block does `of_block`.
inline unsigned blocks_for(std::size_t n, std::size_t of_block) {
  return static_cast<unsigned>((n + of_block - 1) / of_block);
}

}  // namespace lab::bitonic_sort
