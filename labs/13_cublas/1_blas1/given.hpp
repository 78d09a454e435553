// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.1 blas1: what blas1.cu starts from. There is nothing to do in here.
#pragma once

#include <cublas_v2.h>

#include <limits>
#include <string>

#include "blas1.hpp"
#include "lab/cublas_check.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"

namespace lab::blas1 {

/// n as cuBLAS counts. What the library cannot know is asked here: how long the arrays are.
inline int checked(std::size_t n, const char* name, strided v) {
  refuse_if(v.increment < 1, "blas1: the increment of ", name, " is ", v.increment,
            "; it must be 1 or more");
  refuse_if(n > static_cast<std::size_t>(std::numeric_limits<int>::max()), "blas1: n is ", n,
            ", more than an int can count");
  const auto needed = n == 0 ? 0 : (n - 1) * static_cast<std::size_t>(v.increment) + 1;
  refuse_if(v.data.size() < needed, "blas1: ", n, " elements with increment ", v.increment,
            " need an array of ", needed, ", but ", name, " has ", v.data.size());
  return static_cast<int>(n);
}

}  // namespace lab::blas1
