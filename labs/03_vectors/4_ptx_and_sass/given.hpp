// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 03.4 ptx_and_sass: what ptx_and_sass.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "ptx_and_sass.hpp"

namespace lab::ptx_and_sass {

constexpr int kThreads = 256;

/// The common length, as the kernels want it.
inline int length_of(std::span<const float> a, std::span<const float> b) {
  refuse_if(a.size() != b.size(), "ptx_and_sass: vectors of ", a.size(), " and ", b.size(),
            " elements; they must be equally long");
  // Less than the largest int by a block: i is computed before it is compared.
  refuse_if(a.size() > static_cast<std::size_t>(std::numeric_limits<int>::max() - kThreads),
            "ptx_and_sass: ", a.size(),
            " elements are more than these kernels, which use int, can count");
  return static_cast<int>(a.size());
}

inline int blocks_for(int n) { return (n + kThreads - 1) / kThreads; }

/// add() and saxpy(), which launch their kernels by `launch`.
template <class Launch>
std::vector<float> host_part_of_add(std::span<const float> a, std::span<const float> b,
                                    const Launch& launch) {
  const int n = length_of(a, b);
  if (n == 0) return {};
  const device_buffer device_a(a), device_b(b);
  device_buffer<float> sum(a.size());
  launch(blocks_for(n), device_a.data(), device_b.data(), sum.data(), n);
  CUDA_CHECK(cudaGetLastError());
  return sum.to_vector();
}

template <class Launch>
std::vector<float> host_part_of_saxpy(std::span<const float> x, std::span<const float> y,
                                      const Launch& launch) {
  const int n = length_of(x, y);
  if (n == 0) return {};
  const device_buffer device_x(x);
  device_buffer device_y(y);
  launch(blocks_for(n), device_x.data(), device_y.data(), n);
  CUDA_CHECK(cudaGetLastError());
  return device_y.to_vector();
}

}  // namespace lab::ptx_and_sass
