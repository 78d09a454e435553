// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// cuBLAS on the CPU device: vectors and matrices in device memory, stored column after column.
// Names, values and statuses are those of CUDA 13; what a function does is cuBLAS's documentation.
//
// There for S (float) and D (double), with int and, as NAME_64, with int64_t sizes.
#pragma once

#include <cuda_runtime.h>
#include <library_types.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
#include <cuda_bf16.h>  // as CUDA's does: public code relies on it
#include <cuda_fp16.h>
#else  // for functions that take pointers to them
typedef struct __half __half;
#endif

// Public code asks these guards of CUDA's headers.
#define CUBLAS_API_H_
#define CUBLAS_V2_H_

#define CUBLAS_VER_MAJOR 13
#define CUBLAS_VER_MINOR 0
#define CUBLAS_VER_PATCH 0
#define CUBLAS_VER_BUILD 0
#define CUBLAS_VERSION (CUBLAS_VER_MAJOR * 10000 + CUBLAS_VER_MINOR * 100 + CUBLAS_VER_PATCH)

typedef enum {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_MAPPING_ERROR = 11,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_INTERNAL_ERROR = 14,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
  CUBLAS_STATUS_LICENSE_ERROR = 16,
} cublasStatus_t;
typedef enum {
  CUBLAS_FILL_MODE_LOWER = 0,
  CUBLAS_FILL_MODE_UPPER = 1,
  CUBLAS_FILL_MODE_FULL = 2,
} cublasFillMode_t;
typedef enum { CUBLAS_DIAG_NON_UNIT = 0, CUBLAS_DIAG_UNIT = 1 } cublasDiagType_t;
typedef enum { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 } cublasSideMode_t;
typedef enum {
  CUBLAS_OP_N = 0,
  CUBLAS_OP_T = 1,
  CUBLAS_OP_C = 2,
  CUBLAS_OP_HERMITAN = 2,
  CUBLAS_OP_CONJG = 3,
} cublasOperation_t;
typedef enum { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 } cublasPointerMode_t;
typedef enum { CUBLAS_ATOMICS_NOT_ALLOWED = 0, CUBLAS_ATOMICS_ALLOWED = 1 } cublasAtomicsMode_t;
typedef enum {
  CUBLAS_DEFAULT_MATH = 0,
  CUBLAS_TENSOR_OP_MATH = 1,
  CUBLAS_PEDANTIC_MATH = 2,
  CUBLAS_TF32_TENSOR_OP_MATH = 3,
  CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16,
} cublasMath_t;
typedef enum { CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 } cublasGemmAlgo_t;
typedef enum {
  CUBLAS_COMPUTE_16F = 64,
  CUBLAS_COMPUTE_16F_PEDANTIC = 65,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_PEDANTIC = 69,
  CUBLAS_COMPUTE_64F = 70,
  CUBLAS_COMPUTE_64F_PEDANTIC = 71,
  CUBLAS_COMPUTE_32I = 72,
  CUBLAS_COMPUTE_32I_PEDANTIC = 73,
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
} cublasComputeType_t;
typedef cudaDataType cublasDataType_t;

struct cublasContext;
typedef struct cublasContext* cublasHandle_t;

#ifdef __cplusplus
extern "C" {
#endif

// --- handles ------------------------------------------------------------------------------------
// A handle belongs to the device that was current when it was made.

cublasStatus_t cublasCreate(cublasHandle_t* handle);
cublasStatus_t cublasDestroy(cublasHandle_t handle);
cublasStatus_t cublasGetVersion(cublasHandle_t handle, int* version);
cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value);
const char* cublasGetStatusName(cublasStatus_t status);
const char* cublasGetStatusString(cublasStatus_t status);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream);
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void* workspace, size_t bytes);
cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode);
cublasStatus_t cublasGetPointerMode(cublasHandle_t handle, cublasPointerMode_t* mode);
cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode);
cublasStatus_t cublasGetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t* mode);
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode);

// --- copies between host and device: strided vectors, matrices with leading dimensions ----------

cublasStatus_t cublasSetVector(int n, int element_bytes, const void* x, int incx, void* device_y,
                               int incy);
cublasStatus_t cublasGetVector(int n, int element_bytes, const void* device_x, int incx, void* y,
                               int incy);
cublasStatus_t cublasSetVectorAsync(int n, int element_bytes, const void* x, int incx,
                                    void* device_y, int incy, cudaStream_t stream);
cublasStatus_t cublasGetVectorAsync(int n, int element_bytes, const void* device_x, int incx,
                                    void* y, int incy, cudaStream_t stream);
cublasStatus_t cublasSetMatrix(int rows, int cols, int element_bytes, const void* A, int lda,
                               void* device_B, int ldb);
cublasStatus_t cublasGetMatrix(int rows, int cols, int element_bytes, const void* device_A, int lda,
                               void* B, int ldb);
cublasStatus_t cublasSetMatrixAsync(int rows, int cols, int element_bytes, const void* A, int lda,
                                    void* device_B, int ldb, cudaStream_t stream);
cublasStatus_t cublasGetMatrixAsync(int rows, int cols, int element_bytes, const void* device_A,
                                    int lda, void* B, int ldb, cudaStream_t stream);

// --- the functions of one element type T (letters L and l) and one integer type I ---------------

#define CPU_DEVICE_CUBLAS(L, l, T, I, _64)                                                         \
  /* Level 1: vectors */                                                                           \
  cublasStatus_t cublasI##l##amax##_64(cublasHandle_t, I n, const T* x, I incx, I* result);        \
  cublasStatus_t cublasI##l##amin##_64(cublasHandle_t, I n, const T* x, I incx, I* result);        \
  cublasStatus_t cublas##L##asum##_64(cublasHandle_t, I n, const T* x, I incx, T* result);         \
  cublasStatus_t cublas##L##nrm2##_64(cublasHandle_t, I n, const T* x, I incx, T* result);         \
  cublasStatus_t cublas##L##axpy##_64(cublasHandle_t, I n, const T* alpha, const T* x, I incx,     \
                                      T* y, I incy);                                               \
  cublasStatus_t cublas##L##copy##_64(cublasHandle_t, I n, const T* x, I incx, T* y, I incy);      \
  cublasStatus_t cublas##L##dot##_64(cublasHandle_t, I n, const T* x, I incx, const T* y, I incy,  \
                                     T* result);                                                   \
  cublasStatus_t cublas##L##rot##_64(cublasHandle_t, I n, T* x, I incx, T* y, I incy, const T* c,  \
                                     const T* s);                                                  \
  cublasStatus_t cublas##L##scal##_64(cublasHandle_t, I n, const T* alpha, T* x, I incx);          \
  cublasStatus_t cublas##L##swap##_64(cublasHandle_t, I n, T* x, I incx, T* y, I incy);            \
  /* Level 2: a matrix and vectors */                                                              \
  cublasStatus_t cublas##L##gemv##_64(cublasHandle_t, cublasOperation_t trans, I m, I n,           \
                                      const T* alpha, const T* A, I lda, const T* x, I incx,       \
                                      const T* beta, T* y, I incy);                                \
  cublasStatus_t cublas##L##gbmv##_64(cublasHandle_t, cublasOperation_t trans, I m, I n, I kl,     \
                                      I ku, const T* alpha, const T* A, I lda, const T* x, I incx, \
                                      const T* beta, T* y, I incy);                                \
  cublasStatus_t cublas##L##symv##_64(cublasHandle_t, cublasFillMode_t uplo, I n, const T* alpha,  \
                                      const T* A, I lda, const T* x, I incx, const T* beta, T* y,  \
                                      I incy);                                                     \
  cublasStatus_t cublas##L##sbmv##_64(cublasHandle_t, cublasFillMode_t uplo, I n, I k,             \
                                      const T* alpha, const T* A, I lda, const T* x, I incx,       \
                                      const T* beta, T* y, I incy);                                \
  cublasStatus_t cublas##L##ger##_64(cublasHandle_t, I m, I n, const T* alpha, const T* x, I incx, \
                                     const T* y, I incy, T* A, I lda);                             \
  cublasStatus_t cublas##L##syr##_64(cublasHandle_t, cublasFillMode_t uplo, I n, const T* alpha,   \
                                     const T* x, I incx, T* A, I lda);                             \
  cublasStatus_t cublas##L##syr2##_64(cublasHandle_t, cublasFillMode_t uplo, I n, const T* alpha,  \
                                      const T* x, I incx, const T* y, I incy, T* A, I lda);        \
  cublasStatus_t cublas##L##trmv##_64(cublasHandle_t, cublasFillMode_t uplo,                       \
                                      cublasOperation_t trans, cublasDiagType_t diag, I n,         \
                                      const T* A, I lda, T* x, I incx);                            \
  cublasStatus_t cublas##L##trsv##_64(cublasHandle_t, cublasFillMode_t uplo,                       \
                                      cublasOperation_t trans, cublasDiagType_t diag, I n,         \
                                      const T* A, I lda, T* x, I incx);                            \
  /* Level 3: matrices */                                                                          \
  cublasStatus_t cublas##L##gemm##_64(                                                             \
      cublasHandle_t, cublasOperation_t transa, cublasOperation_t transb, I m, I n, I k,           \
      const T* alpha, const T* A, I lda, const T* B, I ldb, const T* beta, T* C, I ldc);           \
  cublasStatus_t cublas##L##gemmBatched##_64(                                                      \
      cublasHandle_t, cublasOperation_t transa, cublasOperation_t transb, I m, I n, I k,           \
      const T* alpha, const T* const A[], I lda, const T* const B[], I ldb, const T* beta,         \
      T* const C[], I ldc, I batch_count);                                                         \
  cublasStatus_t cublas##L##gemmStridedBatched##_64(                                               \
      cublasHandle_t, cublasOperation_t transa, cublasOperation_t transb, I m, I n, I k,           \
      const T* alpha, const T* A, I lda, long long stride_a, const T* B, I ldb,                    \
      long long stride_b, const T* beta, T* C, I ldc, long long stride_c, I batch_count);          \
  cublasStatus_t cublas##L##symm##_64(cublasHandle_t, cublasSideMode_t side,                       \
                                      cublasFillMode_t uplo, I m, I n, const T* alpha, const T* A, \
                                      I lda, const T* B, I ldb, const T* beta, T* C, I ldc);       \
  cublasStatus_t cublas##L##syrk##_64(cublasHandle_t, cublasFillMode_t uplo,                       \
                                      cublasOperation_t trans, I n, I k, const T* alpha,           \
                                      const T* A, I lda, const T* beta, T* C, I ldc);              \
  cublasStatus_t cublas##L##trmm##_64(cublasHandle_t, cublasSideMode_t side,                       \
                                      cublasFillMode_t uplo, cublasOperation_t trans,              \
                                      cublasDiagType_t diag, I m, I n, const T* alpha, const T* A, \
                                      I lda, const T* B, I ldb, T* C, I ldc);                      \
  cublasStatus_t cublas##L##trsm##_64(                                                             \
      cublasHandle_t, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans,       \
      cublasDiagType_t diag, I m, I n, const T* alpha, const T* A, I lda, T* B, I ldb);            \
  /* beyond BLAS: sums and transposes, products with a diagonal matrix */                          \
  cublasStatus_t cublas##L##geam##_64(                                                             \
      cublasHandle_t, cublasOperation_t transa, cublasOperation_t transb, I m, I n,                \
      const T* alpha, const T* A, I lda, const T* beta, const T* B, I ldb, T* C, I ldc);           \
  cublasStatus_t cublas##L##dgmm##_64(cublasHandle_t, cublasSideMode_t side, I m, I n, const T* A, \
                                      I lda, const T* x, I incx, T* C, I ldc);
CPU_DEVICE_CUBLAS(S, s, float, int, )
CPU_DEVICE_CUBLAS(D, d, double, int, )
CPU_DEVICE_CUBLAS(S, s, float, int64_t, _64)
CPU_DEVICE_CUBLAS(D, d, double, int64_t, _64)
#undef CPU_DEVICE_CUBLAS

// Without _64 forms: the rotation that makes b zero; LU factors, solutions and inverses of many
// small matrices. The arrays of pointers are device memory, and so are the pivots and infos, but
// for getrsBatched's info, which is one number on the host.
#define CPU_DEVICE_CUBLAS(L, T)                                                                    \
  cublasStatus_t cublas##L##rotg(cublasHandle_t, T* a, T* b, T* c, T* s);                          \
  cublasStatus_t cublas##L##getrfBatched(cublasHandle_t, int n, T* const A[], int lda,             \
                                         int* pivots, int* info, int batch_count);                 \
  cublasStatus_t cublas##L##getrsBatched(cublasHandle_t, cublasOperation_t trans, int n, int nrhs, \
                                         const T* const A[], int lda, const int* pivots,           \
                                         T* const B[], int ldb, int* info, int batch_count);       \
  cublasStatus_t cublas##L##getriBatched(cublasHandle_t, int n, const T* const A[], int lda,       \
                                         const int* pivots, T* const C[], int ldc, int* info,      \
                                         int batch_count);
CPU_DEVICE_CUBLAS(S, float)
CPU_DEVICE_CUBLAS(D, double)
#undef CPU_DEVICE_CUBLAS

// --- half precision, and types as arguments -----------------------------------------------------

cublasStatus_t cublasHgemm(cublasHandle_t handle, cublasOperation_t transa,
                           cublasOperation_t transb, int m, int n, int k, const __half* alpha,
                           const __half* A, int lda, const __half* B, int ldb, const __half* beta,
                           __half* C, int ldc);
cublasStatus_t cublasHgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa,
                                         cublasOperation_t transb, int m, int n, int k,
                                         const __half* alpha, const __half* A, int lda,
                                         long long stride_a, const __half* B, int ldb,
                                         long long stride_b, const __half* beta, __half* C, int ldc,
                                         long long stride_c, int batch_count);

// All types CUDA_R_32F, or all 64F; others: NOT_SUPPORTED.
cublasStatus_t cublasDotEx(cublasHandle_t handle, int n, const void* x, cudaDataType x_type,
                           int incx, const void* y, cudaDataType y_type, int incy, void* result,
                           cudaDataType result_type, cudaDataType execution_type);

// Here A and B are of one type, and other combinations than these are NOT_SUPPORTED:
//   compute type 32F (alpha and beta: float)   32F, 16F, 16BF or 8I; C 32F, or 16F or 16BF as A is
//   16F (__half)                               all 16F
//   64F (double)                               all 64F
//   32I (int)                                  8I; C 32I
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
                            cublasOperation_t transb, int m, int n, int k, const void* alpha,
                            const void* A, cudaDataType a_type, int lda, const void* B,
                            cudaDataType b_type, int ldb, const void* beta, void* C,
                            cudaDataType c_type, int ldc, cublasComputeType_t compute,
                            cublasGemmAlgo_t algorithm);
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa,
                                          cublasOperation_t transb, int m, int n, int k,
                                          const void* alpha, const void* A, cudaDataType a_type,
                                          int lda, long long stride_a, const void* B,
                                          cudaDataType b_type, int ldb, long long stride_b,
                                          const void* beta, void* C, cudaDataType c_type, int ldc,
                                          long long stride_c, int batch_count,
                                          cublasComputeType_t compute, cublasGemmAlgo_t algorithm);

#ifdef __cplusplus
}  // extern "C"

// CUDA 10's forms, which name the type that is computed with.
namespace cpu_device {
inline cublasComputeType_t compute_type(cudaDataType type) {
  switch (type) {
    case CUDA_R_16F:
      return CUBLAS_COMPUTE_16F;
    case CUDA_R_32F:
      return CUBLAS_COMPUTE_32F;
    case CUDA_R_64F:
      return CUBLAS_COMPUTE_64F;
    case CUDA_R_32I:
      return CUBLAS_COMPUTE_32I;
    default:
      return static_cast<cublasComputeType_t>(0);  // none: the call refuses it
  }
}
}  // namespace cpu_device
inline cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
                                   cublasOperation_t transb, int m, int n, int k, const void* alpha,
                                   const void* A, cudaDataType a_type, int lda, const void* B,
                                   cudaDataType b_type, int ldb, const void* beta, void* C,
                                   cudaDataType c_type, int ldc, cudaDataType compute,
                                   cublasGemmAlgo_t algorithm) {
  return cublasGemmEx(handle, transa, transb, m, n, k, alpha, A, a_type, lda, B, b_type, ldb, beta,
                      C, c_type, ldc, cpu_device::compute_type(compute), algorithm);
}
inline cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
    const void* alpha, const void* A, cudaDataType a_type, int lda, long long stride_a,
    const void* B, cudaDataType b_type, int ldb, long long stride_b, const void* beta, void* C,
    cudaDataType c_type, int ldc, long long stride_c, int batch_count, cudaDataType compute,
    cublasGemmAlgo_t algorithm) {
  return cublasGemmStridedBatchedEx(
      handle, transa, transb, m, n, k, alpha, A, a_type, lda, stride_a, B, b_type, ldb, stride_b,
      beta, C, c_type, ldc, stride_c, batch_count, cpu_device::compute_type(compute), algorithm);
}
#endif
