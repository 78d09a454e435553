// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// alpha, beta, A, x and y are in one array on the device, and cuBLAS reads alpha and beta there. x
// is stored backwards, with an increment of -1.

#include <cublas_v2.h>

#include <algorithm>

#include "given.hpp"

namespace lab::gemv {

result multiply(step version, float alpha, row_major a, std::span<const float> x, float beta,
                std::span<const float> y) {
  const device_matrix matrix = checked(a);
  require_length("x", x.size(), version == step::transposed ? a.rows : a.cols);
  require_length("y", y.size(), version == step::transposed ? a.cols : a.rows);
  result out;
  if (x.empty() || y.empty()) {
    out.y.assign(y.size(), 0);
    if (beta != 0) std::ranges::transform(y, out.y.begin(), [=](float old) { return beta * old; });
    return out;
  }

  // y comes first, so that it can be restored by itself.
  std::vector<float> host(y.begin(), y.end());
  host.insert(host.end(), {alpha, beta});
  host.insert(host.end(), x.rbegin(), x.rend());
  host.insert(host.end(), a.data.begin(), a.data.begin() + ((a.rows - 1) * a.pitch + a.cols));
  const device_buffer<float> before(host);
  device_buffer<float> device(before.size());
  float* const device_y = device.data();
  float* const device_alpha = device_y + y.size();
  float* const device_x = device_alpha + 2;
  float* const device_a = device_x + x.size();

  const cublas_handle handle;
  CUBLAS_CHECK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
  const cublasOperation_t op = version == step::transposed ? CUBLAS_OP_N : CUBLAS_OP_T;
  out.kernel_ms = time_kernel(
      [&] {
        CUBLAS_CHECK(cublasSgemv(handle, op, matrix.cols, matrix.rows, device_alpha, device_a,
                                 matrix.pitch, device_x, -1, device_alpha + 1, device_y, 1));
      },
      [&] {
        CUDA_CHECK(cudaMemcpy(device.data(), before.data(), before.size_bytes(),
                              cudaMemcpyDeviceToDevice));
      });
  out.y.resize(y.size());
  CUDA_CHECK(cudaMemcpy(out.y.data(), device_y, y.size_bytes(), cudaMemcpyDeviceToHost));
  return out;
}

}  // namespace lab::gemv
