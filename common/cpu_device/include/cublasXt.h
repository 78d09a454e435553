// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// cuBLAS-Xt on the CPU device: products and triangular solves of matrices that may lie in host
// memory, made tile by tile on the selected devices. A call returns when its result is complete.
#pragma once

#include <cublas_v2.h>

struct cublasXtContext;
typedef struct cublasXtContext* cublasXtHandle_t;

typedef enum {
  CUBLASXT_PINNING_DISABLED = 0,
  CUBLASXT_PINNING_ENABLED = 1,
} cublasXtPinnedMemMode_t;
typedef enum {
  CUBLASXT_FLOAT = 0,
  CUBLASXT_DOUBLE = 1,
  CUBLASXT_COMPLEX = 2,
  CUBLASXT_DOUBLECOMPLEX = 3,
} cublasXtOpType_t;
typedef enum {
  CUBLASXT_GEMM = 0,
  CUBLASXT_SYRK = 1,
  CUBLASXT_HERK = 2,
  CUBLASXT_SYMM = 3,
  CUBLASXT_HEMM = 4,
  CUBLASXT_TRSM = 5,
  CUBLASXT_SYR2K = 6,
  CUBLASXT_HER2K = 7,
  CUBLASXT_SPMM = 8,
  CUBLASXT_SYRKX = 9,
  CUBLASXT_HERKX = 10,
  CUBLASXT_TRMM = 11,
  CUBLASXT_ROUTINE_MAX = 12,
} cublasXtBlasOp_t;

#ifdef __cplusplus
extern "C" {
#endif

cublasStatus_t cublasXtCreate(cublasXtHandle_t* handle);
cublasStatus_t cublasXtDestroy(cublasXtHandle_t handle);
cublasStatus_t cublasXtGetNumBoards(int device_count, int devices[], int* board_count);
cublasStatus_t cublasXtMaxBoards(int* board_count);
/// The devices that take part; once, before the first product.
cublasStatus_t cublasXtDeviceSelect(cublasXtHandle_t handle, int device_count, int devices[]);
/// Tiles are block_dim x block_dim elements (1024 unless set).
cublasStatus_t cublasXtSetBlockDim(cublasXtHandle_t handle, int block_dim);
cublasStatus_t cublasXtGetBlockDim(cublasXtHandle_t handle, int* block_dim);
cublasStatus_t cublasXtSetPinningMemMode(cublasXtHandle_t handle, cublasXtPinnedMemMode_t mode);
cublasStatus_t cublasXtGetPinningMemMode(cublasXtHandle_t handle, cublasXtPinnedMemMode_t* mode);
// A share of the work for the host's own BLAS: accepted, and not used here.
cublasStatus_t cublasXtSetCpuRoutine(cublasXtHandle_t handle, cublasXtBlasOp_t operation,
                                     cublasXtOpType_t type, void* routine);
cublasStatus_t cublasXtSetCpuRatio(cublasXtHandle_t handle, cublasXtBlasOp_t operation,
                                   cublasXtOpType_t type, float ratio);

// alpha and beta are the host's. The matrices are the host's or any device's.
#define CPU_DEVICE_CUBLASXT(L, T)                                                                  \
  cublasStatus_t cublasXt##L##gemm(cublasXtHandle_t, cublasOperation_t transa,                     \
                                   cublasOperation_t transb, size_t m, size_t n, size_t k,         \
                                   const T* alpha, const T* A, size_t lda, const T* B, size_t ldb, \
                                   const T* beta, T* C, size_t ldc);                               \
  cublasStatus_t cublasXt##L##symm(cublasXtHandle_t, cublasSideMode_t side, cublasFillMode_t uplo, \
                                   size_t m, size_t n, const T* alpha, const T* A, size_t lda,     \
                                   const T* B, size_t ldb, const T* beta, T* C, size_t ldc);       \
  cublasStatus_t cublasXt##L##syrk(cublasXtHandle_t, cublasFillMode_t uplo,                        \
                                   cublasOperation_t trans, size_t n, size_t k, const T* alpha,    \
                                   const T* A, size_t lda, const T* beta, T* C, size_t ldc);       \
  cublasStatus_t cublasXt##L##trmm(cublasXtHandle_t, cublasSideMode_t side, cublasFillMode_t uplo, \
                                   cublasOperation_t trans, cublasDiagType_t diag, size_t m,       \
                                   size_t n, const T* alpha, const T* A, size_t lda, const T* B,   \
                                   size_t ldb, T* C, size_t ldc);                                  \
  cublasStatus_t cublasXt##L##trsm(cublasXtHandle_t, cublasSideMode_t side, cublasFillMode_t uplo, \
                                   cublasOperation_t trans, cublasDiagType_t diag, size_t m,       \
                                   size_t n, const T* alpha, const T* A, size_t lda, T* B,         \
                                   size_t ldb);
CPU_DEVICE_CUBLASXT(S, float)
CPU_DEVICE_CUBLASXT(D, double)
#undef CPU_DEVICE_CUBLASXT

#ifdef __cplusplus
}  // extern "C"
#endif
