// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// cublasSetVector and cublasGetVector pack the vectors: on the device all increments are 1, and the
// elements of y are put back into the array on the host, whose other elements keep their values.

#include <cublas_v2.h>

#include <memory>
#include <type_traits>

#include "given.hpp"

namespace lab::blas1 {
namespace {

struct destroy {
  void operator()(cublasHandle_t handle) const noexcept {
    CUBLAS_CHECK_NOTHROW(cublasDestroy(handle));
  }
};
using session = std::unique_ptr<std::remove_pointer_t<cublasHandle_t>, destroy>;

session begin_session() {
  cublasHandle_t handle = nullptr;
  CUBLAS_CHECK(cublasCreate(&handle));
  return session(handle);
}

device_buffer<double> upload(int n, strided v) {
  device_buffer<double> to(static_cast<std::size_t>(n));
  if (n > 0)
    CUBLAS_CHECK(cublasSetVector(n, sizeof(double), v.data.data(), v.increment, to.data(), 1));
  return to;
}

/// The whole array of v, with its elements replaced by those of `from`.
std::vector<double> merged(int n, const device_buffer<double>& from, strided v) {
  std::vector<double> all(v.data.begin(), v.data.end());
  if (n > 0)
    CUBLAS_CHECK(cublasGetVector(n, sizeof(double), from.data(), 1, all.data(), v.increment));
  return all;
}

}  // namespace

vector_result copy(std::size_t n, strided x, strided y) {
  const int count = checked(n, "x", x);
  checked(n, "y", y);
  const session blas = begin_session();
  const device_buffer<double> from = upload(count, x);
  device_buffer<double> to = upload(count, y);
  const float ms = time_kernel(
      [&] { CUBLAS_CHECK(cublasDcopy(blas.get(), count, from.data(), 1, to.data(), 1)); });
  return {merged(count, to, y), ms};
}

vector_result scale(std::size_t n, double alpha, strided x) {
  const int count = checked(n, "x", x);
  const session blas = begin_session();
  device_buffer<double> scaled;
  const float ms =
      time_kernel([&] { CUBLAS_CHECK(cublasDscal(blas.get(), count, &alpha, scaled.data(), 1)); },
                  [&] { scaled = upload(count, x); });
  return {merged(count, scaled, x), ms};
}

scalar_result dot(step version, std::size_t n, strided x, strided y) {
  const int count = checked(n, "x", x);
  checked(n, "y", y);
  const session blas = begin_session();
  const device_buffer<double> device_x = upload(count, x), device_y = upload(count, y);
  const auto call = [&](double* to) {
    CUBLAS_CHECK(cublasDdot(blas.get(), count, device_x.data(), 1, device_y.data(), 1, to));
  };
  scalar_result out;
  if (version == step::host_result) {
    out.kernel_ms = time_kernel([&] { call(&out.value); });
    return out;
  }
  device_buffer<double> there(1);
  CUBLAS_CHECK(cublasSetPointerMode(blas.get(), CUBLAS_POINTER_MODE_DEVICE));
  out.kernel_ms = time_kernel([&] { call(there.data()); });
  CUBLAS_CHECK(cublasGetVector(1, sizeof(double), there.data(), 1, &out.value, 1));
  return out;
}

scalar_result norm(std::size_t n, strided x) {
  const int count = checked(n, "x", x);
  const session blas = begin_session();
  const device_buffer<double> device_x = upload(count, x);
  scalar_result out;
  out.kernel_ms = time_kernel(
      [&] { CUBLAS_CHECK(cublasDnrm2(blas.get(), count, device_x.data(), 1, &out.value)); });
  return out;
}

}  // namespace lab::blas1
