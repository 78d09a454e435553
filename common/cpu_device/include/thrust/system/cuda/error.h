// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The category of the errors that Thrust throws (their codes are those of cudaError_t), and how a
// kernel's error is thrown.
#pragma once

#include <thrust/detail/config.h>
#include <thrust/system/error_code.h>
#include <thrust/system/system_error.h>

#include <exception>
#include <string>
#include <type_traits>

#include "cpu_device/host_work.h"
#include "cpu_device/runtime_api.h"

THRUST_NAMESPACE_BEGIN

namespace system {

namespace cuda::detail {
class category final : public error_category {
 public:
  const char* name() const override { return "cuda"; }
  std::string message(int code) const override {
    const auto error = static_cast<cudaError_t>(code);
    return std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error);
  }
};
}  // namespace cuda::detail

inline const error_category& cuda_category() {
  static const cuda::detail::category the_category;
  return the_category;
}

class system_error;  // this header may be reached from the one that defines it

namespace cuda::detail {
/// What stands in front of an algorithm: waits for the stream, throws the error of a kernel there.
template <class Policy>
void wait_for(cudaStream_t stream, Policy&) {
  using error = std::conditional_t<std::is_void_v<Policy>, void, system_error>;
  const cudaError_t status = ::cpu_device::catch_up(stream);
  // While another exception is on its way a destructor stands above, which must not throw.
  if (status != cudaSuccess && std::uncaught_exceptions() == 0) {
    cudaGetLastError();  // reported by the exception
    throw error(static_cast<int>(status), cuda_category(), "a kernel or copy before this failed");
  }
}
}  // namespace cuda::detail

}  // namespace system

using system::cuda_category;

THRUST_NAMESPACE_END
