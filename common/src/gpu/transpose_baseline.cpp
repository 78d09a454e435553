// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/transpose_baseline.hpp"

#include <cublas_v2.h>

#include <algorithm>
#include <limits>

#include "lab/cublas_check.hpp"
#include "lab/cublas_handle.hpp"
#include "lab/device_buffer.hpp"
#include "lab/require_matrix.hpp"
#include "lab/time_kernel.hpp"

namespace lab {

std::optional<float> library_transpose_milliseconds(std::span<const float> matrix, std::size_t rows,
                                                    std::size_t columns) {
  require_matrix("library_transpose_milliseconds", matrix.size(), rows, columns);
  if (matrix.empty() || std::max(rows, columns) > std::numeric_limits<int>::max())
    return std::nullopt;
  const device_buffer<float> from(matrix);
  device_buffer<float> to(matrix.size());
  const cublas_handle handle;
  const float one = 1, zero = 0;
  // cuBLAS is column-major: it takes our rows for columns, and its columns are the rows of `to`.
  const int m = static_cast<int>(rows), n = static_cast<int>(columns);
  const repeated_timing samples(20);
  return time_kernel([&] {
    CUBLAS_CHECK(cublasSgeam(handle, CUBLAS_OP_T, CUBLAS_OP_N, m, n, &one, from.data(), n, &zero,
                             nullptr, m, to.data(), m));
  });
}

}  // namespace lab
