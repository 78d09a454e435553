// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.3 gemm: what gemm.cu starts from. There is nothing to do in here.
#pragma once

#include <cublas_v2.h>

#include <limits>
#include <string>

#include "gemm.hpp"
#include "lab/cublas_check.hpp"
#include "lab/cublas_handle.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"

namespace lab::gemm {

/// A matrix on the device, row after row, as on the host. T is float or const float.
template <class T>
struct device_matrix {
  T* data;
  int rows, cols, pitch;
};

/// As cuBLAS counts. What the library cannot know is asked here: how long the arrays are.
inline int as_int(std::size_t n, const std::string& name) {
  refuse_if(n > static_cast<std::size_t>(std::numeric_limits<int>::max()), "gemm: ", name, " is ",
            n, ", more than an int can count");
  return static_cast<int>(n);
}

template <class T>
device_matrix<T> checked(const std::string& name, row_major m) {
  const device_matrix<T> out{nullptr, as_int(m.rows, "the number of rows of " + name),
                             as_int(m.cols, "the number of columns of " + name),
                             as_int(m.pitch, "the pitch of " + name)};
  refuse_if(m.pitch < m.cols, "gemm: a pitch of ", m.pitch, " is too short for the ", m.cols,
            " columns of ", name);
  const std::size_t needed = m.rows == 0 || m.cols == 0 ? 0 : (m.rows - 1) * m.pitch + m.cols;
  refuse_if(m.data.size() < needed, "gemm: ", name, " needs ", needed, " elements, but there are ",
            m.data.size());
  return out;
}

inline void require_same(std::size_t one, std::size_t other, const char* dimensions) {
  refuse_if(one != other, "gemm: ", dimensions, " do not fit: ", one, " and ", other);
}

}  // namespace lab::gemm
