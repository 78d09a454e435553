// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.6 lu_solve: what lu_solve.cu starts from. There is nothing to do in here.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "lab/cublas_check.hpp"
#include "lab/cublas_handle.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"
#include "lu_solve.hpp"

namespace lab::lu_solve {

/// The batch in device memory, column-major, with what the factorization leaves behind.
struct batch {
  std::size_t systems, n, right_sides;
  device_buffer<double> a;         // before: the matrices. After: L under the diagonal, U above
  device_buffer<double> b;         // before: the right-hand sides. After: the solutions
  device_buffer<double*> each_a;   // where each system's matrix begins in a …
  device_buffer<double*> each_b;   // … and its right-hand sides in b
  device_buffer<int> pivots;       // n a system: with which row each row was exchanged
  device_buffer<int> zero_pivots;  // one a system: 0, or the number of the first pivot that is 0
};

inline void require_sensible(std::span<const double> a, std::span<const double> b, shape size) {
  const auto [systems, n, right_sides] = size;
  constexpr std::size_t kMost = std::numeric_limits<int>::max();
  // n and systems: their product counts the pivots, in int as well.
  refuse_if(n > kMost || right_sides > kMost || systems > kMost || (n != 0 && systems > kMost / n),
            "lu_solve: cuBLAS counts systems, rows and pivots in int, and these are ", systems,
            " systems of ", n, " rows");
  refuse_if(a.size() != systems * n * n, "lu_solve: ", systems, " matrices of ", n, " x ", n,
            " have ", systems * n * n, " elements, and a has ", a.size());
  const bool fits = n * systems == 0
                        ? b.empty()
                        : b.size() % (n * systems) == 0 && b.size() / (n * systems) == right_sides;
  refuse_if(!fits, "lu_solve: b has ", b.size(), " elements, which are not ", right_sides,
            " right-hand sides for ", systems, " systems of ", n, " rows");
}

}  // namespace lab::lu_solve
