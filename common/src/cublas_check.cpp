// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/cublas_check.hpp"

#include <cstdio>
#include <cstring>

#include "without_folder.hpp"

namespace lab {
namespace {

struct named_status {
  const char* name;
  const char* words;
};

// The library has these texts, too (cublasGetStatusString). They are here in words for beginners,
// and without a call: a program that never uses cuBLAS need not be linked with it.
named_status describe(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return {"CUBLAS_STATUS_SUCCESS", "all is well"};
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return {"CUBLAS_STATUS_NOT_INITIALIZED",
              "the handle is none, or no longer one: cublasCreate comes before the first call, "
              "cublasDestroy after the last. If cublasCreate itself says so, it found no usable "
              "device"};
    case CUBLAS_STATUS_ALLOC_FAILED:
      return {"CUBLAS_STATUS_ALLOC_FAILED",
              "the library got no memory for itself: free what is not needed, or try a smaller "
              "size"};
    case CUBLAS_STATUS_INVALID_VALUE:
      return {"CUBLAS_STATUS_INVALID_VALUE",
              "an argument cannot be right: look for negative sizes, an increment of 0, a leading "
              "dimension shorter than a column, a null pointer"};
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return {"CUBLAS_STATUS_ARCH_MISMATCH", "this device lacks something that the call needs"};
    case CUBLAS_STATUS_MAPPING_ERROR:
      return {"CUBLAS_STATUS_MAPPING_ERROR",
              "an access to device memory failed: look at the pointers, and which side each is on"};
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return {"CUBLAS_STATUS_EXECUTION_FAILED",
              "the work could not be launched, or failed on the device: look at the pointers, and "
              "at the device that is current"};
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return {"CUBLAS_STATUS_INTERNAL_ERROR",
              "something failed inside the library; an earlier CUDA error may be the cause"};
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return {"CUBLAS_STATUS_NOT_SUPPORTED",
              "the library does not do this: look up which types and sizes go together"};
    case CUBLAS_STATUS_LICENSE_ERROR:
      return {"CUBLAS_STATUS_LICENSE_ERROR", "a license is missing"};
  }
  return {"unknown cuBLAS status", "a number that cuBLAS does not document"};
}

std::string sentence(cublasStatus_t status, const char* expression, const char* file, int line) {
  const named_status s = describe(status);
  return std::string(without_folder(file)) + ":" + std::to_string(line) + ": " + expression +
         " failed: " + s.name + " (" + s.words + ")";
}

}  // namespace

cublas_error::cublas_error(cublasStatus_t status, const char* expression, const char* file,
                           int line)
    : std::runtime_error(sentence(status, expression, file, line)),
      status_(status),
      expression_(expression),
      file_(without_folder(file)),
      line_(line) {}

const char* cublas_status_name(cublasStatus_t status) noexcept { return describe(status).name; }
const char* cublas_status_words(cublasStatus_t status) noexcept { return describe(status).words; }

namespace detail {

void throw_cublas_error(cublasStatus_t status, const char* expression, const char* file, int line) {
  throw cublas_error(status, expression, file, line);
}

void print_cublas_error(cublasStatus_t status, const char* expression, const char* file,
                        int line) noexcept {
  const named_status s = describe(status);  // piece by piece: building a string could throw
  std::fprintf(stderr, "%s:%d: %s failed: %s (%s)\n", without_folder(file), line, expression,
               s.name, s.words);
}

}  // namespace detail
}  // namespace lab
