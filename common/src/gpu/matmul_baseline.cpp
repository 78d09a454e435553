// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/matmul_baseline.hpp"

#include <cublas_v2.h>

#include <algorithm>
#include <limits>

#include "lab/cublas_check.hpp"
#include "lab/cublas_handle.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/time_kernel.hpp"

namespace lab {

std::optional<float> library_matmul_milliseconds(std::span<const float> a, std::span<const float> b,
                                                 std::size_t m, std::size_t n, std::size_t k) {
  if (a.size() != m * k || b.size() != k * n)
    throw invalid_input("a matrix product needs m * k elements of A and k * n of B");
  const std::size_t largest = std::max({m, n, k});
  if (std::min({m, n, k}) == 0 ||
      largest > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    return std::nullopt;  // cublasSgemm counts in int
  constexpr int kRuns = 20;
  const device_buffer<float> device_a(a);
  const device_buffer<float> device_b(b);
  device_buffer<float> device_c(m * n);
  const cublas_handle handle;
  CUBLAS_CHECK(cublasSetMathMode(handle, CUBLAS_PEDANTIC_MATH));  // FP32 and nothing faster

  // cuBLAS is column-major. Read that way, our row-major C is its own transpose, and
  // (A B) transposed is B transposed times A transposed: swap the operands, and all is in place.
  const float one = 1, zero = 0;
  const int im = static_cast<int>(m), in = static_cast<int>(n), ik = static_cast<int>(k);
  const repeated_timing samples(kRuns);
  return time_kernel([&] {
    CUBLAS_CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, in, im, ik, &one, device_b.data(),
                             in, device_a.data(), ik, &zero, device_c.data(), in));
  });
}

}  // namespace lab
