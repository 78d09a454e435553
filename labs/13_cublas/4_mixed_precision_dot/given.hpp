// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.4 mixed_precision_dot: what mixed_precision_dot.cu starts from. There is nothing to do in
// here.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <string>

#include "lab/cublas_check.hpp"
#include "lab/cublas_handle.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"
#include "mixed_precision_dot.hpp"

namespace lab::mixed_precision_dot {

inline int common_length(std::span<const float> x, std::span<const float> y) {
  refuse_if(x.size() != y.size(), "mixed_precision_dot: x has ", x.size(), " elements and y has ",
            y.size(), "; they must be equally long");
  refuse_if(x.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()),
            "mixed_precision_dot: ", x.size(), " elements are more than an int can count");
  return static_cast<int>(x.size());
}

constexpr unsigned kThreads = 256;
constexpr int kPiece = 1 << 18;  // as many elements are double at the same time

/// dot(), with the two functions of mixed_precision_dot.cu.
template <class InFloat, class InDouble>
result host_part_of_dot(const InFloat& dot_in_float, const InDouble& dot_in_double, step version,
                        std::span<const float> x, std::span<const float> y) {
  const int n = common_length(x, y);
  if (n == 0) return {};
  const device_buffer device_x(x), device_y(y);
  const auto longest = static_cast<std::size_t>(std::min(n, kPiece));
  device_buffer<double> wide_x(longest), wide_y(longest);
  const cublas_handle handle;
  double value = 0;
  const float kernel_ms = time_kernel([&] {
    value = version == step::in_float
                ? static_cast<double>(dot_in_float(handle, n, device_x.data(), device_y.data()))
                : dot_in_double(handle, n, device_x.data(), device_y.data(), wide_x.data(),
                                wide_y.data());
  });
  return {value, kernel_ms};
}

}  // namespace lab::mixed_precision_dot
