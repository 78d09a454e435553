// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <thrust/mr/allocator.h>
#include <thrust/system/cuda/memory_resource.h>

THRUST_NAMESPACE_BEGIN

namespace system::cuda {
template <class T>
using allocator = thrust::mr::stateless_resource_allocator<T, memory_resource>;
template <class T>
using universal_allocator = thrust::mr::stateless_resource_allocator<T, universal_memory_resource>;
template <class T>
using universal_host_pinned_allocator =
    thrust::mr::stateless_resource_allocator<T, universal_host_pinned_memory_resource>;
}  // namespace system::cuda

namespace cuda {
using system::cuda::allocator;
using system::cuda::universal_allocator;
using system::cuda::universal_host_pinned_allocator;
}  // namespace cuda

THRUST_NAMESPACE_END
