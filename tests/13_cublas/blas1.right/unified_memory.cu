// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Vectors, alpha and results are in unified memory: no CUDA call copies anything. Scalars are read
// and written on the device, except for the result of host_result.

#include <cublas_v2.h>

#include <algorithm>
#include <memory>

#include "given.hpp"
#include "lab/cublas_handle.hpp"

namespace lab::blas1 {
namespace {

struct free_unified {
  void operator()(double* memory) const noexcept { CUDA_CHECK_NOTHROW(cudaFree(memory)); }
};

/// An array that the host and the device can access.
class unified {
 public:
  explicit unified(std::span<const double> values) : size_(values.size()) {
    double* made = nullptr;
    CUDA_CHECK(cudaMallocManaged(&made, std::max<std::size_t>(size_, 1) * sizeof(double)));
    memory_.reset(made);
    std::ranges::copy(values, made);
  }
  explicit unified(double value) : unified(std::span(&value, 1)) {}
  operator double*() const { return memory_.get(); }

  /// Its contents, once the device has finished.
  std::vector<double> take() const {
    CUDA_CHECK(cudaDeviceSynchronize());
    return {memory_.get(), memory_.get() + size_};
  }

 private:
  std::size_t size_;
  std::unique_ptr<double, free_unified> memory_;
};

}  // namespace

vector_result copy(std::size_t n, strided x, strided y) {
  const int count = (checked(n, "x", x), checked(n, "y", y));
  const unified from(x.data), to(y.data);
  const cublas_handle blas;
  const float ms = time_kernel(
      [&] { CUBLAS_CHECK(cublasDcopy(blas, count, from, x.increment, to, y.increment)); });
  return {to.take(), ms};
}

vector_result scale(std::size_t n, double alpha, strided x) {
  const int count = checked(n, "x", x);
  const unified vector(x.data), factor(alpha);
  const cublas_handle blas;
  CUBLAS_CHECK(cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_DEVICE));
  const float ms =
      time_kernel([&] { CUBLAS_CHECK(cublasDscal(blas, count, factor, vector, x.increment)); });
  return {vector.take(), ms};
}

scalar_result dot(step version, std::size_t n, strided x, strided y) {
  const int count = (checked(n, "x", x), checked(n, "y", y));
  const unified a(x.data), b(y.data), there(0.0);
  double here = 0;
  const bool on_host = version == step::host_result;
  const cublas_handle blas;
  if (!on_host) CUBLAS_CHECK(cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_DEVICE));
  const float ms = time_kernel([&] {
    CUBLAS_CHECK(cublasDdot(blas, count, a, x.increment, b, y.increment, on_host ? &here : there));
  });
  return {on_host ? here : there.take()[0], ms};
}

scalar_result norm(std::size_t n, strided x) {
  const int count = checked(n, "x", x);
  const unified vector(x.data), length(0.0);
  const cublas_handle blas;
  CUBLAS_CHECK(cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_DEVICE));
  const float ms =
      time_kernel([&] { CUBLAS_CHECK(cublasDnrm2(blas, count, vector, x.increment, length)); });
  return {length.take()[0], ms};
}

}  // namespace lab::blas1
