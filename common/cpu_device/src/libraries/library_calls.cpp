// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "library_calls.hpp"

#include <cstring>

namespace cpu_device {
namespace {

int nothing_to_keep(int status) { return status; }

int cublas_status_named(const char* name) {
  for (int status = 0; status <= CUBLAS_STATUS_LICENSE_ERROR; ++status)
    if (std::strcmp(cublasGetStatusName(static_cast<cublasStatus_t>(status)), name) == 0)
      return status;
  return -1;
}

struct named_status {
  const char* name;
  curandStatus_t status;
};
#define CPU_DEVICE_STATUS(name) \
  { #name, name }
constexpr named_status kCurandStatuses[] = {
    CPU_DEVICE_STATUS(CURAND_STATUS_VERSION_MISMATCH),
    CPU_DEVICE_STATUS(CURAND_STATUS_NOT_INITIALIZED),
    CPU_DEVICE_STATUS(CURAND_STATUS_ALLOCATION_FAILED),
    CPU_DEVICE_STATUS(CURAND_STATUS_TYPE_ERROR),
    CPU_DEVICE_STATUS(CURAND_STATUS_OUT_OF_RANGE),
    CPU_DEVICE_STATUS(CURAND_STATUS_LENGTH_NOT_MULTIPLE),
    CPU_DEVICE_STATUS(CURAND_STATUS_DOUBLE_PRECISION_REQUIRED),
    CPU_DEVICE_STATUS(CURAND_STATUS_LAUNCH_FAILURE),
    CPU_DEVICE_STATUS(CURAND_STATUS_PREEXISTING_FAILURE),
    CPU_DEVICE_STATUS(CURAND_STATUS_INITIALIZATION_FAILED),
    CPU_DEVICE_STATUS(CURAND_STATUS_ARCH_MISMATCH),
    CPU_DEVICE_STATUS(CURAND_STATUS_INTERNAL_ERROR),
};
#undef CPU_DEVICE_STATUS

int curand_status_named(const char* name) {
  for (const named_status& s : kCurandStatuses)
    if (std::strcmp(s.name, name) == 0) return s.status;
  return -1;
}

int nccl_status_named(const char* name) {
  constexpr const char* kNames[] = {
      "ncclSuccess",         "ncclUnhandledCudaError", "ncclSystemError", "ncclInternalError",
      "ncclInvalidArgument", "ncclInvalidUsage",       "ncclRemoteError", "ncclInProgress"};
  for (int status = 0; status < ncclNumResults; ++status)
    if (std::strcmp(kNames[status], name) == 0) return status;
  return -1;
}

}  // namespace

constinit const call_family cublas_family = {CUBLAS_STATUS_NOT_SUPPORTED, nothing_to_keep,
                                             cublas_status_named};
constinit const call_family curand_family = {CURAND_STATUS_LAUNCH_FAILURE, nothing_to_keep,
                                             curand_status_named};
constinit const call_family nccl_family = {ncclInvalidUsage, nothing_to_keep, nccl_status_named};

}  // namespace cpu_device
