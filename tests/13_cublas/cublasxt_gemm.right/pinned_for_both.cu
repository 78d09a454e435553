// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The sum and the product are halves of one array, and all that the two products use stays pinned
// from the first to the last.

#include <cublasXt.h>
#include <cuda_runtime.h>

#include <memory>

#include "given.hpp"

namespace lab::cublasxt_gemm {
namespace {

/// A row-major matrix anywhere in host memory.
struct view {
  float* data;
  std::size_t rows, columns;
};

view view_of(const matrix& m) { return {const_cast<float*>(m.elements.data()), m.rows, m.columns}; }

class pins {
 public:
  explicit pins(result& out) : out_(out) {}
  pins(const pins&) = delete;
  pins& operator=(const pins&) = delete;
  ~pins() {
    for (float* p : pinned_) CUDA_CHECK_NOTHROW(cudaHostUnregister(p));
  }
  void add(view v) {
    if (std::find(pinned_.begin(), pinned_.end(), v.data) != pinned_.end()) return;
    pinned_.reserve(pinned_.size() + 1);
    const host_timer timer;
    CUDA_CHECK(
        cudaHostRegister(v.data, v.rows * v.columns * sizeof(float), cudaHostRegisterDefault));
    pinned_.push_back(v.data);
    out_.pin_ms += timer.milliseconds();
  }

 private:
  result& out_;
  std::vector<float*> pinned_;
};

void multiply_views(op first, view a, view b, view c, std::vector<int>& devices, int block_dim,
                    result& out) {
  const cublasxt_handle handle;
  CUBLAS_CHECK(cublasXtDeviceSelect(handle, static_cast<int>(devices.size()), devices.data()));
  CUBLAS_CHECK(cublasXtSetBlockDim(handle, block_dim));
  constexpr float kOne = 1.0F, kZero = 0.0F;
  const host_timer timer;
  CUBLAS_CHECK(cublasXtSgemm(handle, CUBLAS_OP_N, first == op::none ? CUBLAS_OP_N : CUBLAS_OP_T,
                             b.columns, c.rows, b.rows, &kOne, b.data, b.columns, a.data, a.columns,
                             &kZero, c.data, c.columns));
  out.host_ms += timer.milliseconds();
}

}  // namespace

result multiply(op first, const matrix& a, const matrix& b, const plan& options) {
  require_product(first, a, b);
  std::vector<int> devices = devices_of(options);
  const std::size_t rows = first == op::none ? a.rows : a.columns;
  result out{{rows, b.columns, std::vector<float>(rows * b.columns)}};
  if (rows == 0 || b.columns == 0 || b.rows == 0) return out;
  pins pinned(out);
  if (options.pinned)
    for (const matrix* m : {&a, &b, static_cast<const matrix*>(&out.c)}) pinned.add(view_of(*m));
  multiply_views(first, view_of(a), view_of(b), view_of(out.c), devices, options.block_dim, out);
  return out;
}

result sum_times_product(op first, const matrix& a, const matrix& b, const plan& options) {
  require_square(a, b);
  std::vector<int> devices = devices_of(options);
  const std::size_t n = a.rows;
  result out{{n, n, std::vector<float>(n * n)}};
  if (n == 0) return out;

  // The sum, and behind it the product.
  const auto both = std::make_unique<float[]>(2 * n * n);
  const view sum{both.get(), n, n}, product{both.get() + n * n, n, n};
  for (std::size_t row = 0; row < n; ++row)
    for (std::size_t i = row * n; i < (row + 1) * n; ++i)
      sum.data[i] = a.elements[i] + b.elements[i];

  pins pinned(out);
  if (options.pinned) {
    pinned.add(view_of(a));
    pinned.add(view_of(b));
    pinned.add({both.get(), 2 * n, n});
    pinned.add(view_of(out.c));
  }
  multiply_views(op::none, view_of(a), view_of(b), product, devices, options.block_dim, out);
  multiply_views(first, sum, product, view_of(out.c), devices, options.block_dim, out);
  return out;
}

}  // namespace lab::cublasxt_gemm
