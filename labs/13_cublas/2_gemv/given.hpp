// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.2 gemv: what gemv.cu starts from. There is nothing to do in here.
#pragma once

#include <cublas_v2.h>

#include <limits>
#include <string>

#include "gemv.hpp"
#include "lab/cublas_check.hpp"
#include "lab/cublas_handle.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"

namespace lab::gemv {

/// The matrix on the device, as it was on the host: `rows` rows of `cols` elements, whose
/// beginnings are `pitch` elements apart.
struct device_matrix {
  const float* data;
  int rows, cols, pitch;
};

/// As cuBLAS counts. What the library cannot know is asked here: how long the arrays are.
inline int as_int(std::size_t n, const char* name) {
  refuse_if(n > static_cast<std::size_t>(std::numeric_limits<int>::max()), "gemv: ", name, " is ",
            n, ", more than an int can count");
  return static_cast<int>(n);
}

inline void require_length(const char* name, std::size_t got, std::size_t wanted) {
  refuse_if(got != wanted, "gemv: ", name, " has ", got, " elements and needs ", wanted);
}

inline device_matrix checked(row_major a) {
  device_matrix out{nullptr, as_int(a.rows, "rows"), as_int(a.cols, "cols"),
                    as_int(a.pitch, "pitch")};
  refuse_if(a.pitch < a.cols, "gemv: a pitch of ", a.pitch, " is too short for ", a.cols,
            " columns");
  const std::size_t needed = a.rows == 0 || a.cols == 0 ? 0 : (a.rows - 1) * a.pitch + a.cols;
  refuse_if(a.data.size() < needed, "gemv: the matrix needs ", needed, " elements, but there are ",
            a.data.size());
  return out;
}

}  // namespace lab::gemv
