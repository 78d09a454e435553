// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.1 blas1: a handle, and the first calls of cuBLAS: copy, scal, dot, nrm2.
// Edit:  this file, from TODO(1) to TODO(6). blas1.hpp has the contract.
// Run:   scripts/lab run 13.1                      (then --step device_result)
// Test:  scripts/lab test 13.1
// Hints: scripts/lab hint 13.1                     Chapter: docs/13_cublas.md

#include <cublas_v2.h>

#include "given.hpp"

namespace lab::blas1 {
namespace {

// --- a handle, and its lifetime ------------------------------------------------------------------

/// Owns the library's state for one device: however you leave a function, the handle is
/// destroyed. (lab::cublas_handle, which the next exercises use, is the same.)
class session {
 public:
  session() {
    // TODO(1): let cuBLAS create a handle, and check the status. CUBLAS_CHECK is for
    //          cublasStatus_t, as CUDA_CHECK is for cudaError_t.
    throw not_written("the handle", 1);
  }
  ~session() {
    // TODO(1): … and destroy it. A destructor must not throw: CUBLAS_CHECK_NOTHROW prints.
  }
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  cublasHandle_t handle() const { return handle_; }

 private:
  cublasHandle_t handle_ = nullptr;
};

}  // namespace

// --- the calls: the code around that of copy() is given as a model for the others ----------------

vector_result copy(std::size_t n, strided x, strided y) {
  const int count = (checked(n, "x", x), checked(n, "y", y));
  const device_buffer device_x(x.data);
  device_buffer device_y(y.data);
  const session blas;
  const float ms = time_kernel([&] {
    // TODO(2): y = x, in one call for vectors of doubles in device memory. Check each
    //          status.
    throw not_written("copy", 2);
  });
  return {device_y.to_vector(), ms};
}

vector_result scale(std::size_t n, double alpha, strided x) {
  const int count = checked(n, "x", x);
  // TODO(3): x = alpha x, with the same code around it as in copy(): x to the device and back, a
  //          session, the time. cuBLAS takes alpha's address: in which memory is alpha?
  throw not_written("scale", 3);
}

scalar_result dot(step version, std::size_t n, strided x, strided y) {
  const int count = (checked(n, "x", x), checked(n, "y", y));
  const device_buffer device_x(x.data), device_y(y.data);
  const session blas;
  if (version == step::host_result) {
    // TODO(4): the dot product, in a host variable. A new handle assumes that the addresses of
    //          scalars are host addresses.
    throw not_written("step host_result", 4);
  }
  // TODO(5): the same, into device memory. Tell the handle that scalars are there now. And what
  //          copies the result to the host?
  throw not_written("step device_result", 5);
}

scalar_result norm(std::size_t n, strided x) {
  const int count = checked(n, "x", x);
  // TODO(6): the Euclidean norm, which BLAS calls nrm2. The root of a dot product is not the same:
  //          the square of 1e200 does not fit in a double.
  throw not_written("norm", 6);
}

}  // namespace lab::blas1
