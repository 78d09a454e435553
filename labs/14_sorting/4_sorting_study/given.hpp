// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 14.4 sorting_study: what sorting_study.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>
#include <thrust/device_ptr.h>
#include <thrust/sort.h>
#include <thrust/system_error.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <string>
#include <vector>

#include "lab/closeness.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/report.hpp"
#include "lab/timer.hpp"
#include "sorting_study.hpp"

namespace lab::sorting_study {

constexpr unsigned kTileBits = 10;
constexpr unsigned kTile = 1U << kTileBits;
constexpr unsigned kThreads = kTile / 2;

struct on_device {
  unsigned *keys, *values;
  std::size_t n;
  unsigned length;
};

/// Comparator `number` of a stage, on elements that begin at `first` among all.
template <method kMethods>
__device__ void compare(unsigned* keys, unsigned* values, std::size_t number, std::size_t first,
                        unsigned level, unsigned bit, const on_device& data) {
  const std::size_t distance = std::size_t{1} << bit, lower = number & (distance - 1);
  std::size_t left = ((number ^ lower) << 1) | lower;
  if (kMethods == method::odd_even && bit + 1 < level) left += distance;
  const std::size_t right = left + distance;
  if (first + right >= data.n || left >> level != right >> level) return;
  const bool falls = kMethods == method::bitonic &&
                     ((first + left) & (data.length - 1) & (std::size_t{1} << level)) != 0;
  const unsigned a = keys[left], b = keys[right], value = values[left];
  if (falls ? a >= b : a <= b) return;
  keys[left] = b;
  keys[right] = a;
  values[left] = values[right];
  values[right] = value;
}

/// The levels first, …, last, as far as they happen within a tile.
template <method kMethods>
__global__ void __launch_bounds__(kThreads)
    tile_stages(on_device data, unsigned first, unsigned last) {
  __shared__ unsigned keys[kTile], values[kTile];
  const std::size_t begin = std::size_t{blockIdx.x} * kTile;
  for (unsigned i = threadIdx.x; i < kTile && begin + i < data.n; i += kThreads) {
    keys[i] = data.keys[begin + i];
    values[i] = data.values[begin + i];
  }
  for (unsigned level = first; level <= last; ++level)
    for (unsigned bit = level < kTileBits ? level : kTileBits; bit-- > 0;) {
      __syncthreads();
      compare<kMethods>(keys, values, threadIdx.x, begin, level, bit, data);
    }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < kTile && begin + i < data.n; i += kThreads) {
    data.keys[begin + i] = keys[i];
    data.values[begin + i] = values[i];
  }
}

template <method kMethods>
__global__ void __launch_bounds__(kThreads)
    global_stage(on_device data, unsigned level, unsigned bit) {
  compare<kMethods>(data.keys, data.values, std::size_t{blockIdx.x} * kThreads + threadIdx.x, 0,
                    level, bit, data);
}

/// A problem's pairs in device memory.
struct workspace {
  explicit workspace(const problem& workload)
      : keys(workload.input.keys.size()),
        values(workload.input.keys.size()),
        wide(workload.arrays.count > 1 ? workload.input.keys.size() : 0),
        length(static_cast<unsigned>(workload.arrays.length)) {}
  device_buffer<unsigned> keys, values;
  device_buffer<unsigned long long> wide;
  unsigned length;
};

template <method kMethods>
void sort_by_network(on_device data) {
  const auto levels = static_cast<unsigned>(std::countr_zero(data.length));
  const auto blocks = static_cast<unsigned>((data.n + kTile - 1) / kTile);
  tile_stages<kMethods><<<blocks, kThreads>>>(data, 1, std::min(levels, kTileBits));
  CUDA_CHECK(cudaGetLastError());
  // The short stages of a bitonic merge go back into tiles; those of the other cross their edges.
  const unsigned shortest = kMethods == method::bitonic ? kTileBits : 0;
  for (unsigned level = kTileBits + 1; level <= levels; ++level) {
    for (unsigned bit = level; bit-- > shortest;) {
      global_stage<kMethods><<<blocks, kThreads>>>(data, level, bit);
      CUDA_CHECK(cudaGetLastError());
    }
    if (kMethods == method::bitonic)
      tile_stages<kMethods><<<blocks, kThreads>>>(data, level, level);
    CUDA_CHECK(cudaGetLastError());
  }
}

}  // namespace lab::sorting_study
