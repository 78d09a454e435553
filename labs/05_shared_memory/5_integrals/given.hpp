// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.5 integrals: what integrals.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include "integrals.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"

namespace lab::integrals {

/// f(x). Given.
__device__ inline double value_at(integrand f, double x) {
  switch (f) {
    case integrand::bell:
      return 4 / (1 + x * x);
    case integrand::sine:
      return sin(x);
    case integrand::exponential:
      return exp(x);
    case integrand::cubic:
      return ((4 * x - 3) * x + 2) * x - 1;
    // x may be a rounding beyond 1, and the root of a negative number is NaN.
    case integrand::half_circle:
      return sqrt(fmax((1 - x) * (1 + x), 0.0));
  }
  return 0;
}

inline void require_sensible(integrand f, double a, double b, std::size_t n) {
  refuse_if(!std::isfinite(b - a),  // nor is it where a or b is not finite
            "integrals: from ", a, " to ", b,
            " is not a finite distance; both limits must be finite numbers");
  refuse_if(n == 0 || n > kMaxPanels, "integrals: ", n,
            " panels; there must be at least 1 and at most 2^53");
  refuse_if(f == integrand::half_circle && std::max(std::fabs(a), std::fabs(b)) > 1,
            "integrals: the half circle goes from -1 to 1, not from ", a, " to ", b);
}

}  // namespace lab::integrals
