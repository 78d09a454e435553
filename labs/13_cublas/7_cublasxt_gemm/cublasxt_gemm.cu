// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.7 cublasxt_gemm: products of matrices in host memory, on all available devices.
// Edit:  this file, from TODO(1) to TODO(4); TODO(5) is a bonus. cublasxt_gemm.hpp has the
//        contract.
// Run:   scripts/lab run 13.7 -- --step multiply      (then --step sum_times_product)
// Test:  scripts/lab test 13.7
// Hints: scripts/lab hint 13.7                        Chapter: docs/13_cublas.md

#include <cublasXt.h>
#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::cublasxt_gemm {
namespace {

/// Tells the library which devices it may use, and how large its tiles are.
void prepare(const cublasxt_handle& handle, std::vector<int> devices, int block_dim) {
  // TODO(1): cublasXtDeviceSelect and cublasXtSetBlockDim. Without the first, the library has
  //          no device to work on.
  throw not_written("prepare", 1);
}

/// Pins a matrix's memory for the lifetime of this object, so that devices can read and write it on
/// their own.
class pinned {
 public:
  explicit pinned(const matrix& m) : memory_(const_cast<float*>(m.elements.data())) {
    // TODO(5, bonus): pin the elements with cudaHostRegister, whose length is in bytes.
    //                 Invariant: a constructor that throws leaves nothing pinned.
    throw not_written("pinned operands", 5);
  }
  pinned(const pinned&) = delete;
  pinned& operator=(const pinned&) = delete;
  ~pinned() { CUDA_CHECK_NOTHROW(cudaHostUnregister(memory_)); }

 private:
  float* memory_;
};

// cublasXtSgemm has the arguments of cublasSgemm (13.3), with the addresses of host memory and
// sizes of std::size_t.

/// c = op(a) · b. All three are in host memory; c has its size, but no values yet.
void gemm(const cublasxt_handle& handle, op first, const matrix& a, const matrix& b, matrix& c) {
  // TODO(2): one cublasXtSgemm. The library reads memory column by column: it sees our a as the
  //          transposed matrix, and so b and c. Which product of the transposed matrices is the
  //          transposed c? Nothing needs to be copied or transposed.
  throw not_written("gemm", 2);
}

/// Given: the same, with its memory pinned if the plan says so. Adds its times to `out`.
void timed_gemm(const cublasxt_handle& handle, op first, const matrix& a, const matrix& b,
                matrix& c, const plan& options, result& out) {
  std::optional<pinned> pins[3];
  if (options.pinned) {
    const host_timer pinning;
    pins[0].emplace(a);
    if (&b != &a) pins[1].emplace(b);
    pins[2].emplace(c);
    out.pin_ms += pinning.milliseconds();
  }
  const host_timer product;
  gemm(handle, first, a, b, c);
  out.host_ms += product.milliseconds();
}

/// a + b, which have the same shape.
matrix sum(const matrix& a, const matrix& b) {
  matrix out = unwritten(a.rows, a.columns);
  // TODO(3): on the host. (The chapter says why.)
  throw not_written("sum", 3);
  return out;
}

/// out.c = op(a + b) · (a · b), for square matrices. out.c has its size, and no values yet.
void two_products(const cublasxt_handle& handle, op first, const matrix& a, const matrix& b,
                  const plan& options, result& out) {
  // TODO(4): two products, with timed_gemm(). Each call of cuBLAS-Xt returns when its result is in
  //          host memory, so the second may use the result of the first.
  throw not_written("step sum_times_product", 3);  // 3 and 4
}

}  // namespace

result multiply(op first, const matrix& a, const matrix& b, const plan& options) {
  require_product(first, a, b);
  const std::vector<int> devices = devices_of(options);
  result out{unwritten(first == op::none ? a.rows : a.columns, b.columns)};
  if (a.elements.empty() || b.elements.empty()) return nothing_to_add(out.c);

  const cublasxt_handle handle;
  prepare(handle, devices, options.block_dim);
  timed_gemm(handle, first, a, b, out.c, options, out);
  return out;
}

result sum_times_product(op first, const matrix& a, const matrix& b, const plan& options) {
  require_square(a, b);
  const std::vector<int> devices = devices_of(options);
  if (a.rows == 0) return {};

  const cublasxt_handle handle;
  prepare(handle, devices, options.block_dim);
  result out{unwritten(a.rows, b.columns)};
  two_products(handle, first, a, b, options, out);
  return out;
}

}  // namespace lab::cublasxt_gemm
