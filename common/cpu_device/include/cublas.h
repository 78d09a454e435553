// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// cuBLAS's first interface, which older programs use: no handle, numbers by value, letters for
// transposition and the like, results returned, and the status of the last call on request. For
// C++, and for S and D. A file includes either this header or cublas_v2.h.
#pragma once

#ifdef CUBLAS_V2_H_
#error "cublas.h and cublas_v2.h are two interfaces with the same names: include one of them."
#endif
#ifndef __cplusplus
#error "cublas.h is for C++ here: in C, use cublas_v2.h."
#endif
#include <cublas_v2.h>
#define CUBLAS_H_

using cublasStatus = cublasStatus_t;

namespace cpu_device::cublas_without_handle {

/// What all files of a program share: the handle, of the device that cublasInit() has found.
struct state {
  cublasHandle_t handle = nullptr;
  cublasStatus_t last = CUBLAS_STATUS_SUCCESS;  ///< of the last call that computes
};
inline state& current() {
  static state the_state;
  return the_state;
}
inline void note(cublasStatus_t status) { current().last = status; }
/// Before cublasInit() there is none, and the library reports that.
inline cublasHandle_t handle() { return current().handle; }

inline cublasOperation_t operation(char letter) {
  return letter == 'n' || letter == 'N'   ? CUBLAS_OP_N
         : letter == 't' || letter == 'T' ? CUBLAS_OP_T
         : letter == 'c' || letter == 'C' ? CUBLAS_OP_C
                                          : static_cast<cublasOperation_t>(-1);  // refused
}
inline cublasFillMode_t fill(char letter) {
  return letter == 'l' || letter == 'L'   ? CUBLAS_FILL_MODE_LOWER
         : letter == 'u' || letter == 'U' ? CUBLAS_FILL_MODE_UPPER
                                          : static_cast<cublasFillMode_t>(-1);
}
inline cublasSideMode_t side(char letter) {
  return letter == 'l' || letter == 'L'   ? CUBLAS_SIDE_LEFT
         : letter == 'r' || letter == 'R' ? CUBLAS_SIDE_RIGHT
                                          : static_cast<cublasSideMode_t>(-1);
}
inline cublasDiagType_t diagonal(char letter) {
  return letter == 'u' || letter == 'U'   ? CUBLAS_DIAG_UNIT
         : letter == 'n' || letter == 'N' ? CUBLAS_DIAG_NON_UNIT
                                          : static_cast<cublasDiagType_t>(-1);
}

}  // namespace cpu_device::cublas_without_handle

inline cublasStatus_t cublasInit() {
  auto& state = cpu_device::cublas_without_handle::current();
  return state.handle != nullptr ? CUBLAS_STATUS_SUCCESS : cublasCreate(&state.handle);
}
inline cublasStatus_t cublasShutdown() {
  auto& state = cpu_device::cublas_without_handle::current();
  if (state.handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const cublasStatus_t status = cublasDestroy(state.handle);
  state = {};
  return status;
}
/// The status of the last call that computes, once. One that succeeds hides a failure before it.
inline cublasStatus_t cublasGetError() {
  auto& state = cpu_device::cublas_without_handle::current();
  const cublasStatus_t last = state.last;
  state.last = CUBLAS_STATUS_SUCCESS;
  return last;
}
inline cublasStatus_t cublasGetVersion(int* version) {
  return cublasGetVersion(cpu_device::cublas_without_handle::handle(), version);
}
inline cublasStatus_t cublasSetKernelStream(cudaStream_t stream) {
  return cublasSetStream(cpu_device::cublas_without_handle::handle(), stream);
}
inline cublasStatus_t cublasAlloc(int n, int element_bytes, void** pointer) {
  if (cpu_device::cublas_without_handle::handle() == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (n <= 0 || element_bytes <= 0) return CUBLAS_STATUS_INVALID_VALUE;
  const size_t bytes = static_cast<size_t>(n) * static_cast<size_t>(element_bytes);
  return cudaMalloc(pointer, bytes) == cudaSuccess ? CUBLAS_STATUS_SUCCESS
                                                   : CUBLAS_STATUS_ALLOC_FAILED;
}
inline cublasStatus_t cublasFree(void* pointer) {
  if (cpu_device::cublas_without_handle::handle() == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  return cudaFree(pointer) == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INTERNAL_ERROR;
}

// Each function is the one of cublas_v2.h with the handle, and addresses of the numbers.
#define CPU_DEVICE_CUBLAS(L, l, T)                                                                \
  inline int cublasI##l##amax(int n, const T* x, int incx) {                                      \
    using namespace cpu_device::cublas_without_handle;                                            \
    int result = 0;                                                                               \
    note(cublasI##l##amax(handle(), n, x, incx, &result));                                        \
    return result;                                                                                \
  }                                                                                               \
  inline int cublasI##l##amin(int n, const T* x, int incx) {                                      \
    using namespace cpu_device::cublas_without_handle;                                            \
    int result = 0;                                                                               \
    note(cublasI##l##amin(handle(), n, x, incx, &result));                                        \
    return result;                                                                                \
  }                                                                                               \
  inline T cublas##L##asum(int n, const T* x, int incx) {                                         \
    using namespace cpu_device::cublas_without_handle;                                            \
    T result = 0;                                                                                 \
    note(cublas##L##asum(handle(), n, x, incx, &result));                                         \
    return result;                                                                                \
  }                                                                                               \
  inline T cublas##L##nrm2(int n, const T* x, int incx) {                                         \
    using namespace cpu_device::cublas_without_handle;                                            \
    T result = 0;                                                                                 \
    note(cublas##L##nrm2(handle(), n, x, incx, &result));                                         \
    return result;                                                                                \
  }                                                                                               \
  inline T cublas##L##dot(int n, const T* x, int incx, const T* y, int incy) {                    \
    using namespace cpu_device::cublas_without_handle;                                            \
    T result = 0;                                                                                 \
    note(cublas##L##dot(handle(), n, x, incx, y, incy, &result));                                 \
    return result;                                                                                \
  }                                                                                               \
  inline void cublas##L##axpy(int n, T alpha, const T* x, int incx, T* y, int incy) {             \
    using namespace cpu_device::cublas_without_handle;                                            \
    note(cublas##L##axpy(handle(), n, &alpha, x, incx, y, incy));                                 \
  }                                                                                               \
  inline void cublas##L##copy(int n, const T* x, int incx, T* y, int incy) {                      \
    using namespace cpu_device::cublas_without_handle;                                            \
    note(cublas##L##copy(handle(), n, x, incx, y, incy));                                         \
  }                                                                                               \
  inline void cublas##L##swap(int n, T* x, int incx, T* y, int incy) {                            \
    using namespace cpu_device::cublas_without_handle;                                            \
    note(cublas##L##swap(handle(), n, x, incx, y, incy));                                         \
  }                                                                                               \
  inline void cublas##L##scal(int n, T alpha, T* x, int incx) {                                   \
    using namespace cpu_device::cublas_without_handle;                                            \
    note(cublas##L##scal(handle(), n, &alpha, x, incx));                                          \
  }                                                                                               \
  inline void cublas##L##rot(int n, T* x, int incx, T* y, int incy, T c, T s) {                   \
    using namespace cpu_device::cublas_without_handle;                                            \
    note(cublas##L##rot(handle(), n, x, incx, y, incy, &c, &s));                                  \
  }                                                                                               \
  inline void cublas##L##gemv(char trans, int m, int n, T alpha, const T* A, int lda, const T* x, \
                              int incx, T beta, T* y, int incy) {                                 \
    using namespace cpu_device::cublas_without_handle;                                            \
    note(cublas##L##gemv(handle(), operation(trans), m, n, &alpha, A, lda, x, incx, &beta, y,     \
                         incy));                                                                  \
  }                                                                                               \
  inline void cublas##L##symv(char uplo, int n, T alpha, const T* A, int lda, const T* x,         \
                              int incx, T beta, T* y, int incy) {                                 \
    using namespace cpu_device::cublas_without_handle;                                            \
    note(cublas##L##symv(handle(), fill(uplo), n, &alpha, A, lda, x, incx, &beta, y, incy));      \
  }                                                                                               \
  inline void cublas##L##ger(int m, int n, T alpha, const T* x, int incx, const T* y, int incy,   \
                             T* A, int lda) {                                                     \
    using namespace cpu_device::cublas_without_handle;                                            \
    note(cublas##L##ger(handle(), m, n, &alpha, x, incx, y, incy, A, lda));                       \
  }                                                                                               \
  inline void cublas##L##syr(char uplo, int n, T alpha, const T* x, int incx, T* A, int lda) {    \
    using namespace cpu_device::cublas_without_handle;                                            \
    note(cublas##L##syr(handle(), fill(uplo), n, &alpha, x, incx, A, lda));                       \
  }                                                                                               \
  inline void cublas##L##trmv(char uplo, char trans, char diag, int n, const T* A, int lda, T* x, \
                              int incx) {                                                         \
    using namespace cpu_device::cublas_without_handle;                                            \
    note(cublas##L##trmv(handle(), fill(uplo), operation(trans), diagonal(diag), n, A, lda, x,    \
                         incx));                                                                  \
  }                                                                                               \
  inline void cublas##L##trsv(char uplo, char trans, char diag, int n, const T* A, int lda, T* x, \
                              int incx) {                                                         \
    using namespace cpu_device::cublas_without_handle;                                            \
    note(cublas##L##trsv(handle(), fill(uplo), operation(trans), diagonal(diag), n, A, lda, x,    \
                         incx));                                                                  \
  }                                                                                               \
  inline void cublas##L##gemm(char transa, char transb, int m, int n, int k, T alpha, const T* A, \
                              int lda, const T* B, int ldb, T beta, T* C, int ldc) {              \
    using namespace cpu_device::cublas_without_handle;                                            \
    note(cublas##L##gemm(handle(), operation(transa), operation(transb), m, n, k, &alpha, A, lda, \
                         B, ldb, &beta, C, ldc));                                                 \
  }                                                                                               \
  inline void cublas##L##symm(char on, char uplo, int m, int n, T alpha, const T* A, int lda,     \
                              const T* B, int ldb, T beta, T* C, int ldc) {                       \
    using namespace cpu_device::cublas_without_handle;                                            \
    note(cublas##L##symm(handle(), side(on), fill(uplo), m, n, &alpha, A, lda, B, ldb, &beta, C,  \
                         ldc));                                                                   \
  }                                                                                               \
  inline void cublas##L##syrk(char uplo, char trans, int n, int k, T alpha, const T* A, int lda,  \
                              T beta, T* C, int ldc) {                                            \
    using namespace cpu_device::cublas_without_handle;                                            \
    note(cublas##L##syrk(handle(), fill(uplo), operation(trans), n, k, &alpha, A, lda, &beta, C,  \
                         ldc));                                                                   \
  }                                                                                               \
  /* In place: B is its own result. */                                                            \
  inline void cublas##L##trmm(char on, char uplo, char trans, char diag, int m, int n, T alpha,   \
                              const T* A, int lda, T* B, int ldb) {                               \
    using namespace cpu_device::cublas_without_handle;                                            \
    note(cublas##L##trmm(handle(), side(on), fill(uplo), operation(trans), diagonal(diag), m, n,  \
                         &alpha, A, lda, B, ldb, B, ldb));                                        \
  }                                                                                               \
  inline void cublas##L##trsm(char on, char uplo, char trans, char diag, int m, int n, T alpha,   \
                              const T* A, int lda, T* B, int ldb) {                               \
    using namespace cpu_device::cublas_without_handle;                                            \
    note(cublas##L##trsm(handle(), side(on), fill(uplo), operation(trans), diagonal(diag), m, n,  \
                         &alpha, A, lda, B, ldb));                                                \
  }
CPU_DEVICE_CUBLAS(S, s, float)
CPU_DEVICE_CUBLAS(D, d, double)
#undef CPU_DEVICE_CUBLAS
