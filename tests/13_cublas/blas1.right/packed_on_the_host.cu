// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The host packs the vectors, so on the device all increments are 1. Of y, nothing gets there.
// alpha is in device memory, and so are all results except that of host_result.

#include <cublas_v2.h>

#include <memory>
#include <type_traits>

#include "given.hpp"

namespace lab::blas1 {
namespace {

struct destroy {
  void operator()(cublasHandle_t handle) const { CUBLAS_CHECK_NOTHROW(cublasDestroy(handle)); }
};
using owner = std::unique_ptr<std::remove_pointer_t<cublasHandle_t>, destroy>;

owner make(cublasPointerMode_t mode) {
  cublasHandle_t raw = nullptr;
  CUBLAS_CHECK(cublasCreate(&raw));
  owner made(raw);
  CUBLAS_CHECK(cublasSetPointerMode(made.get(), mode));
  return made;
}

/// The n elements of v, one after the other, in device memory.
device_buffer<double> packed(std::size_t n, strided v) {
  std::vector<double> dense(n);
  for (std::size_t i = 0; i < n; ++i) dense[i] = v.data[i * static_cast<std::size_t>(v.increment)];
  return device_buffer<double>(std::span<const double>(dense));
}

/// The array of v, with the elements of `dense` in place of its own.
std::vector<double> unpacked(const device_buffer<double>& dense, strided v) {
  std::vector<double> whole(v.data.begin(), v.data.end());
  const std::vector<double> values = dense.to_vector();
  for (std::size_t i = 0; i < values.size(); ++i)
    whole[i * static_cast<std::size_t>(v.increment)] = values[i];
  return whole;
}

}  // namespace

vector_result copy(std::size_t n, strided x, strided y) {
  checked(n, "x", x);
  const int count = checked(n, "y", y);
  const auto from = packed(n, x);
  device_buffer<double> to(n);
  const owner blas = make(CUBLAS_POINTER_MODE_HOST);
  const float ms = time_kernel(
      [&] { CUBLAS_CHECK(cublasDcopy(blas.get(), count, from.data(), 1, to.data(), 1)); });
  return {unpacked(to, y), ms};
}

vector_result scale(std::size_t n, double alpha, strided x) {
  const int count = checked(n, "x", x);
  const auto original = packed(n, x);
  auto vector = packed(n, x);
  const device_buffer<double> factor(std::span<const double>(&alpha, 1));
  const owner blas = make(CUBLAS_POINTER_MODE_DEVICE);
  const float ms = time_kernel(
      [&] { CUBLAS_CHECK(cublasDscal(blas.get(), count, factor.data(), vector.data(), 1)); },
      [&] {
        if (n != 0)
          CUDA_CHECK(cudaMemcpyAsync(vector.data(), original.data(), vector.size_bytes(),
                                     cudaMemcpyDeviceToDevice));
      });
  return {unpacked(vector, x), ms};
}

scalar_result dot(step version, std::size_t n, strided x, strided y) {
  checked(n, "x", x);
  const int count = checked(n, "y", y);
  const auto a = packed(n, x), b = packed(n, y);
  const bool on_host = version == step::host_result;
  const owner blas = make(on_host ? CUBLAS_POINTER_MODE_HOST : CUBLAS_POINTER_MODE_DEVICE);
  device_buffer<double> there(1);
  double here = 0;
  const float ms = time_kernel([&] {
    CUBLAS_CHECK(
        cublasDdot(blas.get(), count, b.data(), 1, a.data(), 1, on_host ? &here : there.data()));
  });
  return {on_host ? here : there.to_vector().front(), ms};
}

scalar_result norm(std::size_t n, strided x) {
  const int count = checked(n, "x", x);
  const auto vector = packed(n, x);
  const owner blas = make(CUBLAS_POINTER_MODE_DEVICE);
  device_buffer<double> there(1);
  const float ms = time_kernel(
      [&] { CUBLAS_CHECK(cublasDnrm2(blas.get(), count, vector.data(), 1, there.data())); });
  return {there.to_vector().front(), ms};
}

}  // namespace lab::blas1
