// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <thrust/detail/pointer.h>
#include <thrust/detail/reference.h>
#include <thrust/system/cuda/detail/execution_policy.h>

#include <type_traits>

THRUST_NAMESPACE_BEGIN

namespace system::cuda {
template <class T>
using pointer = thrust::pointer<T, tag, tagged_reference<T, tag>>;
/// Managed memory: the host follows this pointer as any other.
template <class T>
using universal_pointer = thrust::pointer<T, tag, std::add_lvalue_reference_t<T>>;
template <class T>
using reference = thrust::reference<T, tag>;
}  // namespace system::cuda

namespace cuda {
using system::cuda::pointer;
using system::cuda::reference;
using system::cuda::universal_pointer;
}  // namespace cuda

THRUST_NAMESPACE_END
