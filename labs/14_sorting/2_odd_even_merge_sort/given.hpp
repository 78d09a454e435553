// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 14.2 odd_even_merge_sort: what odd_even_merge_sort.cu starts from. There is nothing to do in
// here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/time_kernel.hpp"
#include "odd_even_merge_sort.hpp"

namespace lab::odd_even_merge_sort {

/// What all kernels are told about the data.
struct arrays_on_device {
  unsigned* keys;
  unsigned* values;  // null where there are only keys
  std::size_t n;     // elements of all arrays together
  bool descending;   // what the caller asked for
};

/// `number` with a bit that is 0 put in at `bit`: its upper bits move up.
template <class Number>
__host__ __device__ constexpr Number with_zero(Number number, unsigned bit) {
  const Number lower = number & ((Number{1} << bit) - 1);
  return ((number ^ lower) << 1) | lower;
}

/// Blocks for n elements, of which each block does `of_block`.
inline unsigned blocks_for(std::size_t n, std::size_t of_block) {
  return static_cast<unsigned>((n + of_block - 1) / of_block);
}

}  // namespace lab::odd_even_merge_sort
