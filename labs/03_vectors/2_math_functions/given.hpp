// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 03.2 math_functions: what math_functions.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"
#include "math_functions.hpp"

namespace lab::math_functions {

/// What a kernel of precision p writes.
template <precision p>
using number = std::conditional_t<p == precision::full, double, float>;

constexpr unsigned kThreads = 256;

/// evaluate() in precision p. launch(p, blocks, values) launches the kernel.
template <precision p, class Launch>
result evaluate_as(std::size_t n, const Launch& launch) {
  constexpr std::size_t kMaxBlocks = 8192;  // more than any device runs at once; threads stride
  const auto blocks = static_cast<unsigned>(std::min((n + kThreads - 1) / kThreads, kMaxBlocks));
  device_buffer<number<p>> values(n);
  const float kernel_ms =
      time_kernel([&] { launch(std::integral_constant<precision, p>{}, blocks, values.data()); });
  const auto computed = values.to_vector();
  return {std::vector<double>(computed.begin(), computed.end()), kernel_ms};
}

template <class Launch>
result host_part_of_evaluate(precision p, std::size_t first, std::size_t n, const Launch& launch) {
  refuse_if(first + n < first, "math_functions: there are no ", n, " elements from element ", first,
            " on");
  if (n == 0) return {};  // a grid of no blocks would be an error
  switch (p) {
    case precision::intrinsic:
      return evaluate_as<precision::intrinsic>(n, launch);
    case precision::single:
      return evaluate_as<precision::single>(n, launch);
    case precision::full:
      return evaluate_as<precision::full>(n, launch);
  }
  throw invalid_input("math_functions: there is no such precision");
}

}  // namespace lab::math_functions
