// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// cuBLAS also copies (cublasSetMatrix, cublasSetVector, cublasGetVector), without the padding
// between the rows.

#include <cublas_v2.h>

#include <memory>
#include <type_traits>

#include "given.hpp"

namespace lab::gemv {
namespace {

struct destroy {
  void operator()(cublasHandle_t handle) const noexcept {
    CUBLAS_CHECK_NOTHROW(cublasDestroy(handle));
  }
};
using owner = std::unique_ptr<std::remove_pointer_t<cublasHandle_t>, destroy>;

owner make_handle() {
  cublasHandle_t handle = nullptr;
  CUBLAS_CHECK(cublasCreate(&handle));
  return owner(handle);
}

}  // namespace

result multiply(step version, float alpha, row_major a, std::span<const float> x, float beta,
                std::span<const float> y) {
  const auto [data, rows, cols, pitch] = checked(a);
  const bool normal = version == step::normal;
  require_length("x", x.size(), normal ? a.cols : a.rows);
  require_length("y", y.size(), normal ? a.rows : a.cols);
  result out{{y.begin(), y.end()}};
  if (rows == 0 || cols == 0) {
    for (float& element : out.y) element = beta == 0 ? 0 : element * beta;
    return out;
  }
  device_buffer<float> device_a(a.rows * a.cols), device_x(x.size()), device_y(y.size());
  // The rows here are columns to cuBLAS.
  CUBLAS_CHECK(
      cublasSetMatrix(cols, rows, sizeof(float), a.data.data(), pitch, device_a.data(), cols));
  CUBLAS_CHECK(
      cublasSetVector(static_cast<int>(x.size()), sizeof(float), x.data(), 1, device_x.data(), 1));
  const auto upload_y = [&] {
    CUBLAS_CHECK(cublasSetVector(static_cast<int>(y.size()), sizeof(float), y.data(), 1,
                                 device_y.data(), 1));
  };
  const owner handle = make_handle();
  out.kernel_ms = time_kernel(
      [&] {
        CUBLAS_CHECK(cublasSgemv(handle.get(), normal ? CUBLAS_OP_T : CUBLAS_OP_N, cols, rows,
                                 &alpha, device_a.data(), cols, device_x.data(), 1, &beta,
                                 device_y.data(), 1));
      },
      upload_y);
  CUBLAS_CHECK(cublasGetVector(static_cast<int>(y.size()), sizeof(float), device_y.data(), 1,
                               out.y.data(), 1));
  return out;
}

}  // namespace lab::gemv
