// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.8 matrix_equation: what matrix_equation.cu starts from. There is nothing to do in here.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>

#include "lab/cublas_check.hpp"
#include "lab/cublas_handle.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"
#include "matrix_equation.hpp"

namespace lab::matrix_equation {

inline void require_sensible(double alpha, std::span<const double> a, std::span<const double> c,
                             std::span<const double> b, shape size) {
  const auto [n, columns] = size;
  refuse_if(!std::isfinite(alpha) || alpha == 0, "matrix_equation: alpha is ", alpha,
            "; with that there is nothing to be found out about X");
  constexpr std::size_t kMost = std::numeric_limits<int>::max();
  refuse_if(n > kMost || columns > kMost,
            "matrix_equation: cuBLAS counts in int, and the sizes are ", n, " and ", columns);
  const auto require = [](const char* name, std::size_t have, std::size_t rows, std::size_t cols) {
    refuse_if(have != rows * cols, "matrix_equation: ", name, " has ", have, " elements, and ",
              rows, " x ", cols, " are asked for");
  };
  require("A", a.size(), n, n);
  require("C", c.size(), n, n);
  require("B", b.size(), n, columns);
}

}  // namespace lab::matrix_equation
