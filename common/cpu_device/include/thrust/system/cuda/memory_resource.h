// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Where device_vector, universal_vector and pinned vectors get their memory: from the runtime, so
// that kernels may use it and its ends and leaks are watched.
#pragma once

#include <thrust/mr/memory_resource.h>
#include <thrust/system/cuda/pointer.h>
#include <thrust/system/detail/bad_alloc.h>

#include <cstddef>
#include <string>

THRUST_NAMESPACE_BEGIN

namespace system::cuda {

namespace detail {

inline cudaError_t get_managed(void** memory, std::size_t bytes) {
  return cudaMallocManaged(memory, bytes);
}
inline cudaError_t get_pinned(void** memory, std::size_t bytes) {
  return cudaMallocHost(memory, bytes);
}

/// Memory that Get gives and Give takes back, handed out as a Pointer.
template <cudaError_t (*Get)(void**, std::size_t), cudaError_t (*Give)(void*), class Pointer>
class runtime_memory final : public thrust::mr::memory_resource<Pointer> {
 public:
  Pointer do_allocate(std::size_t bytes, std::size_t) override {
    void* memory = nullptr;
    const cudaError_t error = bytes == 0 ? cudaSuccess : Get(&memory, bytes);
    if (error != cudaSuccess) {
      cudaGetLastError();  // reported by the exception
      throw thrust::system::detail::bad_alloc(cuda_category().message(error));
    }
    return Pointer(memory);
  }
  // Not an error worth an exception in a destructor: after a failed kernel nothing can be freed.
  void do_deallocate(Pointer memory, std::size_t, std::size_t) override {
    if (Give(memory.get()) != cudaSuccess) cudaGetLastError();
  }
};

}  // namespace detail

using memory_resource =
    detail::runtime_memory<static_cast<cudaError_t (*)(void**, std::size_t)>(cudaMalloc), cudaFree,
                           pointer<void>>;
using universal_memory_resource =
    detail::runtime_memory<detail::get_managed, cudaFree, universal_pointer<void>>;
using universal_host_pinned_memory_resource =
    detail::runtime_memory<detail::get_pinned, cudaFreeHost, universal_pointer<void>>;

}  // namespace system::cuda

THRUST_NAMESPACE_END
