// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A thread makes doubles of a run of 32 neighbours, of both vectors, so that a short piece has few
// threads. The doubles lie x, y, x, y …, and cublasDotEx has increments of 2.

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>

#include "given.hpp"

namespace lab::mixed_precision_dot {
namespace {

constexpr int kRun = 32;

__global__ void widen(const float* x, const float* y, double2* to, int n) {
  const int first = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) * kRun;
  for (int i = first; i < n && i < first + kRun; ++i)
    to[i] = {static_cast<double>(x[i]), static_cast<double>(y[i])};
}

double dot_in_double(cublasHandle_t handle, int n, const float* x, const float* y, double2* wide) {
  double sum = 0;
  for (int first = 0, count = 0; first < n; first += count) {
    count = std::min(n - first, kPiece);
    const unsigned runs = static_cast<unsigned>((count + kRun - 1) / kRun);
    widen<<<(runs + kThreads - 1) / kThreads, kThreads>>>(x + first, y + first, wide, count);
    CUDA_CHECK(cudaGetLastError());
    double piece = 0;
    CUBLAS_CHECK(cublasDotEx(handle, count, &wide->x, CUDA_R_64F, 2, &wide->y, CUDA_R_64F, 2,
                             &piece, CUDA_R_64F, CUDA_R_64F));
    sum += piece;
  }
  return sum;
}

}  // namespace

result dot(step version, std::span<const float> x, std::span<const float> y) {
  const int n = common_length(x, y);
  if (n == 0) return {};
  const device_buffer device_x(x), device_y(y);
  device_buffer<double2> wide(
      version == step::in_double ? static_cast<std::size_t>(std::min(n, kPiece)) : 0);
  const cublas_handle handle;
  result out;
  out.kernel_ms = time_kernel([&] {
    if (version == step::in_double) {
      out.value = dot_in_double(handle, n, device_x.data(), device_y.data(), wide.data());
    } else {
      float value = 0;
      CUBLAS_CHECK(cublasDotEx(handle, n, device_x.data(), CUDA_R_32F, 1, device_y.data(),
                               CUDA_R_32F, 1, &value, CUDA_R_32F, CUDA_R_32F));
      out.value = static_cast<double>(value);
    }
  });
  return out;
}

std::optional<double> ask_for_mixed_types(std::span<const float> x, std::span<const float> y) {
  const int n = common_length(x, y);
  const device_buffer device_x(x), device_y(y);
  const cublas_handle handle;
  double value = 0;
  const cublasStatus_t status =
      cublasDotEx(handle, n, device_x.data(), CUDA_R_32F, 1, device_y.data(), CUDA_R_32F, 1, &value,
                  CUDA_R_64F, CUDA_R_64F);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return std::nullopt;
  CUBLAS_CHECK(status);
  return value;
}

}  // namespace lab::mixed_precision_dot
