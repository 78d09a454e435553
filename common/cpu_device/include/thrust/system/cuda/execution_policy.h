// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// thrust::cuda::par and par_nosync, alone, .on(stream) or with an allocator.
#pragma once

#include <thrust/detail/allocator_aware_execution_policy.h>
#include <thrust/detail/execute_with_allocator.h>
#include <thrust/detail/execution_policy.h>
#include <thrust/system/cuda/detail/execution_policy.h>

THRUST_NAMESPACE_BEGIN

namespace system::cuda::detail {

/// Takes its turn in a stream, then runs at once.
struct on_stream : execution_policy<on_stream>,
                   thrust::detail::allocator_aware_execution_policy<execution_policy> {
  explicit on_stream(cudaStream_t s) : stream(s) {}
  on_stream on(cudaStream_t s) const { return on_stream(s); }
  cudaStream_t stream;
};

struct par_t : execution_policy<par_t>,
               thrust::detail::allocator_aware_execution_policy<execution_policy> {
  constexpr par_t() = default;
  on_stream on(cudaStream_t stream) const { return on_stream(stream); }
};

}  // namespace system::cuda::detail

namespace system::cuda {
inline constexpr detail::par_t par;
inline constexpr detail::par_t par_nosync;
}  // namespace system::cuda

namespace cuda {
using system::cuda::par;
using system::cuda::par_nosync;
}  // namespace cuda

THRUST_NAMESPACE_END
