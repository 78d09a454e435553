// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Every algorithm, and every access to an element through a device_vector or device_ptr, takes its
// execution policy through derived_cast(). For policies of this device it waits for the stream
// here: the algorithm's turn comes after the kernels and copies that were put there before.
#pragma once

#include_next <thrust/detail/execution_policy.h>

#include <type_traits>

#include "cpu_device/host_work.h"

THRUST_NAMESPACE_BEGIN

namespace system::cuda::detail {
/// The base of all policies of this device.
struct device_policy {};
}  // namespace system::cuda::detail

namespace detail {

template <class Policy>
requires std::is_base_of_v<system::cuda::detail::device_policy, Policy> Policy& derived_cast(
    execution_policy_base<Policy>& base) {
  auto& policy = static_cast<Policy&>(base);
  if (::cpu_device::unsettled.load(std::memory_order_relaxed) != 0) {
    // wait_for() is found by the policy's namespace: it is declared later.
    if constexpr (requires { policy.stream; })
      wait_for(policy.stream, policy);
    else
      wait_for(cudaStream_t{}, policy);
  }
  return policy;
}

}  // namespace detail

THRUST_NAMESPACE_END
