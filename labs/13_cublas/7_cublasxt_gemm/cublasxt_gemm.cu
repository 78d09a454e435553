// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.7 cublasxt_gemm: products of matrices in host memory, by all the devices there are.
// Edit:  this file, from TODO(1) to TODO(4). cublasxt_gemm.hpp says what is asked for.
// Run:   scripts/lab run 13.7 -- --step multiply      (then --step sum_times_product)
// Test:  scripts/lab test 13.7
// Hints: scripts/lab hint 13.7                        Chapter: docs/13_cublas.md

#include <cublasXt.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "cublasxt_gemm.hpp"
#include "lab/cublas_check.hpp"
#include "lab/cublasxt_handle.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/timer.hpp"

namespace lab::cublasxt_gemm {
namespace {

/// Tells the library which devices it may use, and how large its tiles are.
void prepare(const cublasxt_handle& handle, std::vector<int> devices, int block_dim) {
  // TODO(1): cublasXtDeviceSelect and cublasXtSetBlockDim. Without the first, the library has
  //          nobody to give work to.
  throw not_written("prepare", 1);
}

// cublasXtSgemm has the arguments of cublasSgemm (13.3), with the addresses of host memory and
// sizes of std::size_t.

/// c = op(a) · b. All three are in host memory; c has its size, and no values yet.
void gemm(const cublasxt_handle& handle, op first, const matrix& a, const matrix& b, matrix& c) {
  // TODO(2): one cublasXtSgemm. The library reads memory column after column: our a is to it the
  //          transposed matrix, and so are b and c. Which product of the transposed matrices is
  //          the transposed c? Nothing needs to be copied or turned.
  throw not_written("gemm", 2);
}

/// A matrix that nobody has written yet: NaN, not 0.
matrix unwritten(std::size_t rows, std::size_t columns) {
  return {rows, columns,
          std::vector<float>(rows * columns, std::numeric_limits<float>::quiet_NaN())};
}

/// a + b, which are of one shape.
matrix sum(const matrix& a, const matrix& b) {
  matrix out = unwritten(a.rows, a.columns);
  // TODO(3): on the host. (The chapter says why.)
  throw not_written("sum", 3);
  return out;
}

/// op(a + b) · (a · b), for square matrices.
matrix two_products(const cublasxt_handle& handle, op first, const matrix& a, const matrix& b) {
  matrix c = unwritten(a.rows, a.columns);
  // TODO(4): two products. Each call of cuBLAS-Xt comes back when its result is in host memory, so
  //          the second may begin with what the first has made.
  throw not_written("step sum_times_product", 3);  // 3 and 4
  return c;
}

// --- given ---------------------------------------------------------------------------------------

std::string name_of(const matrix& m) {
  return std::to_string(m.rows) + " x " + std::to_string(m.columns);
}

void require_whole(const char* name, const matrix& m) {
  const bool right = m.rows == 0 || m.columns == 0
                         ? m.elements.empty()
                         : m.elements.size() % m.rows == 0 &&
                               m.elements.size() / m.rows == m.columns;  // the product may overflow
  if (!right)
    throw invalid_input(std::string("cublasxt_gemm: ") + name + " is " + name_of(m) + ", but has " +
                        std::to_string(m.elements.size()) + " elements");
}

/// The plan's devices, or all of them, if each is there and is named once.
std::vector<int> devices_of(const plan& how) {
  if (how.block_dim < 1)
    throw invalid_input("cublasxt_gemm: tiles have a side of 1 element at least, not " +
                        std::to_string(how.block_dim));
  const int count = device_count();
  std::vector<int> devices = how.devices;
  if (devices.empty())
    for (int device = 0; device < count; ++device) devices.push_back(device);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i] < 0 || devices[i] >= count)
      throw invalid_input("cublasxt_gemm: there is no device " + std::to_string(devices[i]) +
                          "; there are " + std::to_string(count) + ", counted from 0");
    if (std::find(devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(i), devices[i]) !=
        devices.begin() + static_cast<std::ptrdiff_t>(i))
      throw invalid_input("cublasxt_gemm: device " + std::to_string(devices[i]) +
                          " is named twice");
  }
  return devices;
}

}  // namespace

result multiply(op first, const matrix& a, const matrix& b, const plan& how) {
  require_whole("A", a);
  require_whole("B", b);
  const std::vector<int> devices = devices_of(how);
  const std::size_t rows = first == op::none ? a.rows : a.columns;
  const std::size_t terms = first == op::none ? a.columns : a.rows;
  if (terms != b.rows)
    throw invalid_input("cublasxt_gemm: op(A) has " + std::to_string(terms) +
                        " columns and B has " + std::to_string(b.rows) +
                        " rows; for a product these must be the same");
  if (terms == 0 || rows == 0 || b.columns == 0)
    return {{rows, b.columns, std::vector<float>(rows * b.columns)}, 0};

  const cublasxt_handle handle;
  prepare(handle, devices, how.block_dim);
  matrix c = unwritten(rows, b.columns);
  const host_timer timer;
  gemm(handle, first, a, b, c);
  const double ms = timer.milliseconds();
  return {std::move(c), ms};
}

result sum_times_product(op first, const matrix& a, const matrix& b, const plan& how) {
  require_whole("A", a);
  require_whole("B", b);
  const std::vector<int> devices = devices_of(how);
  if (a.rows != b.rows || a.columns != b.columns || a.columns != b.rows)
    throw invalid_input("cublasxt_gemm: A is " + name_of(a) + " and B is " + name_of(b) +
                        "; A + B and A · B are both possible only for square matrices of one size");
  if (a.rows == 0) return {};

  const cublasxt_handle handle;
  prepare(handle, devices, how.block_dim);
  const host_timer timer;
  matrix c = two_products(handle, first, a, b);
  const double ms = timer.milliseconds();
  return {std::move(c), ms};
}

}  // namespace lab::cublasxt_gemm
