// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.1 blas1: a handle, and the first calls of cuBLAS: copy, scal, dot, nrm2.
// Edit:  this file, from TODO(1) to TODO(6). blas1.hpp says what is asked for.
// Run:   scripts/lab run 13.1                      (then --step device_result)
// Test:  scripts/lab test 13.1
// Hints: scripts/lab hint 13.1                     Chapter: docs/13_cublas.md

#include <cublas_v2.h>

#include "given.hpp"

namespace lab::blas1 {
namespace {

// --- a handle, from the first call to the last ---------------------------------------------------

/// The library's state for one device, and its owner: however a function is left, the handle is
/// destroyed. (lab::cublas_handle, which the next exercises use, is the same.)
class session {
 public:
  session() {
    // TODO(1): have cuBLAS make a handle, and check the status. CUBLAS_CHECK is to cublasStatus_t
    //          what CUDA_CHECK is to cudaError_t.
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

// --- the calls: pointers are device memory, unless it is said otherwise --------------------------

void copy_on_device(cublasHandle_t handle, int n, const double* x, int incx, double* y, int incy) {
  // TODO(2): y = x, in one call for vectors of doubles. Each status is checked.
  throw not_written("copy", 2);
}

void scale_on_device(cublasHandle_t handle, int n, double alpha, double* x, int incx) {
  // TODO(3): x = alpha x. cuBLAS wants alpha's address: where does alpha live?
  throw not_written("scale", 3);
}

double dot_to_host(cublasHandle_t handle, int n, const double* x, int incx, const double* y,
                   int incy) {
  // TODO(4): the dot product, in a variable of the host. A new handle takes the addresses of
  //          single numbers for addresses of the host.
  throw not_written("step host_result", 4);
}

void dot_to_device(cublasHandle_t handle, int n, const double* x, int incx, const double* y,
                   int incy, double* device_result) {
  // TODO(5): the same, into device memory. Tell the handle that single numbers are there now.
  throw not_written("step device_result", 5);
}

double norm_to_host(cublasHandle_t handle, int n, const double* x, int incx) {
  // TODO(6): the Euclidean norm, which BLAS calls nrm2. The root of a dot product is not the same:
  //          the square of 1e200 is no double.
  throw not_written("norm", 6);
}

}  // namespace

// --- the frame around the calls: copy() is given, and shows how ----------------------------------

vector_result copy(std::size_t n, strided x, strided y) {
  const int count = (checked(n, "x", x), checked(n, "y", y));
  const device_buffer device_x(x.data);
  device_buffer device_y(y.data);
  const session blas;
  const float ms = time_kernel([&] {
    copy_on_device(blas.handle(), count, device_x.data(), x.increment, device_y.data(),
                   y.increment);
  });
  return {device_y.to_vector(), ms};
}

vector_result scale(std::size_t n, double alpha, strided x) {
  const int count = checked(n, "x", x);
  // TODO(3): … and around it what copy() has: x on the device and back, a session, the time.
  throw not_written("scale", 3);
}

scalar_result dot(step version, std::size_t n, strided x, strided y) {
  const int count = (checked(n, "x", x), checked(n, "y", y));
  // TODO(5): … for both steps. Who brings the result of device_result to the host?
  throw not_written("step host_result", 4);  // 4 and 5
}

scalar_result norm(std::size_t n, strided x) {
  const int count = checked(n, "x", x);
  // TODO(6): … and around it.
  throw not_written("norm", 6);
}

}  // namespace lab::blas1
