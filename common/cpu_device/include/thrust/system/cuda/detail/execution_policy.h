// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The tag of this device's system, and the memory that its algorithms ask for.
#pragma once

#include <thrust/detail/config.h>
#include <thrust/detail/execution_policy.h>
#include <thrust/system/cpp/detail/execution_policy.h>

#include <cstddef>

#include "cpu_device/runtime_api.h"

THRUST_NAMESPACE_BEGIN

namespace system::cuda::detail {

// As for every system of Thrust: the tag is a policy, and every policy converts to the tag.
struct tag;
template <class>
struct execution_policy;
template <>
struct execution_policy<tag> : cpp::detail::execution_policy<tag>, device_policy {};
struct tag : execution_policy<tag> {};
template <class Derived>
struct execution_policy : cpp::detail::execution_policy<Derived>, device_policy {
  using tag_type = tag;
  operator tag() const { return {}; }  // NOLINT: implicit, as Thrust asks
};

// thrust::device_malloc() and the scratch memory of algorithms: found by the tag's namespace.
template <class Derived>
void* malloc(execution_policy<Derived>&, std::size_t bytes) {
  void* memory = nullptr;
  return cudaMalloc(&memory, bytes) == cudaSuccess ? memory : nullptr;  // as the other systems do
}
template <class Derived, class Pointer>
void free(execution_policy<Derived>&, Pointer memory) {
  if constexpr (requires { memory.get(); })
    cudaFree(memory.get());
  else
    cudaFree(memory);
}

}  // namespace system::cuda::detail

namespace system::cuda {
using detail::execution_policy;
using detail::tag;
}  // namespace system::cuda

namespace cuda {
using system::cuda::execution_policy;
using system::cuda::tag;
}  // namespace cuda

THRUST_NAMESPACE_END
