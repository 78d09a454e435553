// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <thrust/detail/vector_base.h>
#include <thrust/system/cuda/memory.h>

THRUST_NAMESPACE_BEGIN

namespace system::cuda {
template <class T, class Allocator = allocator<T>>
using vector = thrust::detail::vector_base<T, Allocator>;
template <class T, class Allocator = universal_allocator<T>>
using universal_vector = thrust::detail::vector_base<T, Allocator>;
template <class T>
using universal_host_pinned_vector =
    thrust::detail::vector_base<T, universal_host_pinned_allocator<T>>;
}  // namespace system::cuda

namespace cuda {
using system::cuda::universal_host_pinned_vector;
using system::cuda::universal_vector;
using system::cuda::vector;
}  // namespace cuda

THRUST_NAMESPACE_END
