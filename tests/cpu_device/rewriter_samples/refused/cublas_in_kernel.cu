// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `cublasCreate` exists only on the host
#include <cublas_v2.h>
__global__ void k(int* p) { cublasHandle_t h; cublasCreate(&h); }
