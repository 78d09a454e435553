// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The way into the libraries, as api/calls.hpp is the way into the runtime:
//
//   cublasStatus_t cublasX(…) { return cublas_call<"cublasX">([&] { …; return status; }); }
//
// A function that is entered like this is known by its name to fail_call().
#pragma once

#include <cublas_v2.h>
#include <curand.h>
#include <nccl.h>

#include <algorithm>
#include <cstddef>

#include "api/calls.hpp"

namespace cpu_device {

extern const call_family cublas_family, curand_family, nccl_family;

template <std::size_t N>
struct function_name {
  consteval function_name(const char (&name)[N]) { std::copy_n(name, N, text); }  // NOLINT
  char text[N];
};

template <function_name Name, const call_family* Family, int UsualError, unsigned Rules>
struct library_function {
  static library_call info;
};
template <function_name Name, const call_family* Family, int UsualError, unsigned Rules>
library_call library_function<Name, Family, UsualError, Rules>::info(Name.text, Rules, UsualError,
                                                                     *Family);

template <function_name Name, cublasStatus_t UsualError = CUBLAS_STATUS_EXECUTION_FAILED,
          unsigned Rules = rules::none, class Body>
cublasStatus_t cublas_call(const Body& body) {
  return call<cublasStatus_t>(library_function<Name, &cublas_family, UsualError, Rules>::info,
                              body);
}
template <function_name Name, curandStatus_t UsualError = CURAND_STATUS_LAUNCH_FAILURE,
          unsigned Rules = rules::none, class Body>
curandStatus_t curand_call(const Body& body) {
  return call<curandStatus_t>(library_function<Name, &curand_family, UsualError, Rules>::info,
                              body);
}

template <function_name Name, ncclResult_t UsualError = ncclUnhandledCudaError,
          unsigned Rules = rules::none, class Body>
ncclResult_t nccl_call(const Body& body) {
  return call<ncclResult_t>(library_function<Name, &nccl_family, UsualError, Rules>::info, body);
}

}  // namespace cpu_device
