// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Products whose types are arguments: which there are, and matrices of one type as another one.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <vector>

#include "cublas_call.hpp"

namespace cpu_device::blas {

/// The same numbers as another type, without gaps between the columns.
template <class To, class From>
std::vector<To> converted(matrix<const From> from) {
  std::vector<To> all;
  all.reserve(static_cast<std::size_t>(from.rows * from.cols));
  for (index j = 0; j < from.cols; ++j)
    for (index i = 0; i < from.rows; ++i) all.push_back(static_cast<To>(from(i, j)));
  return all;
}

/// Calls run with what the types of a call are called in C++: the scalars', that of A and B, and
/// C's.
template <class Run>
cublasStatus_t with_types(cudaDataType a, cudaDataType b, cudaDataType c,
                          cublasComputeType_t compute, Run run) {
  const bool exact_float = compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_PEDANTIC;
  const bool any_float = exact_float || (compute >= CUBLAS_COMPUTE_32F_FAST_16F &&
                                         compute <= CUBLAS_COMPUTE_32F_FAST_TF32);
  const auto are = [&](cudaDataType in, cudaDataType out) {
    return a == in && b == in && c == out;
  };
  if (any_float && are(CUDA_R_32F, CUDA_R_32F)) return run(float{}, float{}, float{});
  if (exact_float) {
    if (are(CUDA_R_16F, CUDA_R_16F)) return run(float{}, __half{}, __half{});
    if (are(CUDA_R_16F, CUDA_R_32F)) return run(float{}, __half{}, float{});
    if (are(CUDA_R_16BF, CUDA_R_16BF)) return run(float{}, __nv_bfloat16{}, __nv_bfloat16{});
    if (are(CUDA_R_16BF, CUDA_R_32F)) return run(float{}, __nv_bfloat16{}, float{});
    if (are(CUDA_R_8I, CUDA_R_32F)) return run(float{}, std::int8_t{}, float{});
  }
  if ((compute == CUBLAS_COMPUTE_64F || compute == CUBLAS_COMPUTE_64F_PEDANTIC) &&
      are(CUDA_R_64F, CUDA_R_64F))
    return run(double{}, double{}, double{});
  if ((compute == CUBLAS_COMPUTE_16F || compute == CUBLAS_COMPUTE_16F_PEDANTIC) &&
      are(CUDA_R_16F, CUDA_R_16F))
    return run(__half{}, __half{}, __half{});
  if ((compute == CUBLAS_COMPUTE_32I || compute == CUBLAS_COMPUTE_32I_PEDANTIC) &&
      are(CUDA_R_8I, CUDA_R_32I))
    return run(std::int32_t{}, std::int8_t{}, std::int32_t{});
  return explain_status(CUBLAS_STATUS_NOT_SUPPORTED,
                        "products have A and B of one type: CUDA_R_32F, 16F, 16BF or 8I with a C "
                        "of CUDA_R_32F and a 32F "
                        "compute type, 16F or 16BF with a C of the same type (16F with a 16F "
                        "compute type, too), 8I with "
                        "a C of 32I and a 32I compute type, or all of them 64F");
}

}  // namespace cpu_device::blas
