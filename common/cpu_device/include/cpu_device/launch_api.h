// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Launches by a function call in place of <<<...>>>, cooperative ones among them.
//
// These functions take the kernel's address and pointers to its arguments, so the types of the
// arguments must be known. Where a kernel is named in such a call, or is cast to void*, the
// rewriter writes  ::cpu_device::remember_kernel("name", kernel)  around its name.
#pragma once

#include "cpu_device/runtime_api.h"
#ifdef CPU_DEVICE_KERNELS
#include <cstddef>
#include <type_traits>
#include <utility>

#include "cpu_device/execution.h"
#include "cpu_device/synchronization.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

// --- attributes ---------------------------------------------------------------------------------

typedef enum cudaLaunchAttributeID {
  cudaLaunchAttributeIgnore = 0,
  cudaLaunchAttributeAccessPolicyWindow = 1,
  cudaLaunchAttributeCooperative = 2,
  cudaLaunchAttributeSynchronizationPolicy = 3,
  cudaLaunchAttributeClusterDimension = 4,
  cudaLaunchAttributeClusterSchedulingPolicyPreference = 5,
  cudaLaunchAttributeProgrammaticStreamSerialization = 6,
  cudaLaunchAttributeProgrammaticEvent = 7,
  cudaLaunchAttributePriority = 8,
  cudaLaunchAttributeMemSyncDomainMap = 9,
  cudaLaunchAttributeMemSyncDomain = 10,
  cudaLaunchAttributePreferredClusterDimension = 11,
  cudaLaunchAttributeLaunchCompletionEvent = 12,
  cudaLaunchAttributeDeviceUpdatableKernelNode = 13,
  cudaLaunchAttributePreferredSharedMemoryCarveout = 14,
} cudaLaunchAttributeID;
enum cudaClusterSchedulingPolicy {
  cudaClusterSchedulingPolicyDefault = 0,
  cudaClusterSchedulingPolicySpread = 1,
  cudaClusterSchedulingPolicyLoadBalancing = 2,
};
enum cudaSynchronizationPolicy {
  cudaSyncPolicyAuto = 1,
  cudaSyncPolicySpin = 2,
  cudaSyncPolicyYield = 3,
  cudaSyncPolicyBlockingSync = 4,
};
enum cudaAccessProperty {
  cudaAccessPropertyNormal = 0,
  cudaAccessPropertyStreaming = 1,
  cudaAccessPropertyPersisting = 2,
};
/// Memory that should stay in the L2 cache. Here a hint, which is checked and kept.
struct cudaAccessPolicyWindow {
  void* base_ptr;
  size_t num_bytes;
  float hitRatio;  // the part of the accesses with hitProp, from 0 to 1
  enum cudaAccessProperty hitProp;
  enum cudaAccessProperty missProp;  // normal or streaming
};
typedef union cudaLaunchAttributeValue_st {
  char pad[64];
  struct cudaAccessPolicyWindow accessPolicyWindow;
  enum cudaSynchronizationPolicy syncPolicy;
  int cooperative;
  struct {
    unsigned int x, y, z;
  } clusterDim;
  enum cudaClusterSchedulingPolicy clusterSchedulingPolicyPreference;
  struct {
    unsigned int x, y, z;
  } preferredClusterDim;
  int programmaticStreamSerializationAllowed;
  int priority;
} cudaLaunchAttributeValue;
typedef struct cudaLaunchAttribute_st {
  cudaLaunchAttributeID id;
  cudaLaunchAttributeValue val;
} cudaLaunchAttribute;

// The attributes of streams are those of launches by another name.
typedef cudaLaunchAttributeID cudaStreamAttrID;
typedef cudaLaunchAttributeValue cudaStreamAttrValue;
#define cudaStreamAttributeAccessPolicyWindow cudaLaunchAttributeAccessPolicyWindow
#define cudaStreamAttributeSynchronizationPolicy cudaLaunchAttributeSynchronizationPolicy
#define cudaStreamAttributePriority cudaLaunchAttributePriority
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID id,
                                   const cudaStreamAttrValue* value);
cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaStreamAttrID id,
                                   cudaStreamAttrValue* value);
cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from);

typedef struct cudaLaunchConfig_st {
  dim3 gridDim;
  dim3 blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned int numAttrs;
} cudaLaunchConfig_t;

#ifdef __cplusplus
}  // extern "C"
#endif

#ifdef CPU_DEVICE_KERNELS
namespace cpu_device {

/// How to launch a kernel of which only the address is known.
struct known_kernel {
  const char* name;
  cudaError_t (*launch)(const launch_site& site, const launch_shape& shape, const void* kernel,
                        void** arguments);
};
void note_kernel(const void* kernel, const known_kernel& how);
cudaError_t launch_by_address(const void* kernel, const launch_shape& shape, void** arguments,
                              const char* file, int line);

template <class... P>
cudaError_t launch_with(const launch_site& site, const launch_shape& shape, const void* kernel,
                        void** arguments) {
  auto* function = reinterpret_cast<void (*)(P...)>(const_cast<void*>(kernel));
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return submit_call(
        site, shape,
        typename pointer_launch<P...>::call{function, {*static_cast<P*>(arguments[I])...}}, kernel,
        *static_cast<P*>(arguments[I])...);
  }
  (std::index_sequence_for<P...>());
}

template <class... P>
auto remember_kernel(const char* name, void (*kernel)(P...)) {
  note_kernel(reinterpret_cast<const void*>(kernel), {name, &launch_with<P...>});
  return kernel;
}

}  // namespace cpu_device

// --- by address and pointers to the arguments ---------------------------------------------------

inline cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                    std::size_t shared_bytes = 0, cudaStream_t stream = nullptr,
                                    CPU_DEVICE_HERE) {
  return cpu_device::launch_by_address(kernel, {grid, block, shared_bytes, stream, false},
                                       arguments, file, line);
}
template <class... P>
cudaError_t cudaLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 block, void** arguments,
                             std::size_t shared_bytes = 0, cudaStream_t stream = nullptr,
                             CPU_DEVICE_HERE) {
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, arguments,
                          shared_bytes, stream, file, line);
}

/// All blocks run at the same time, so this_grid().sync() can be used; there may be as many as
/// cudaOccupancyMaxActiveBlocksPerMultiprocessor times the number of multiprocessors.
inline cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block,
                                               void** arguments, std::size_t shared_bytes = 0,
                                               cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {
  return cpu_device::launch_by_address(kernel, {grid, block, shared_bytes, stream, true}, arguments,
                                       file, line);
}
template <class... P>
cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(P...), dim3 grid, dim3 block,
                                        void** arguments, std::size_t shared_bytes = 0,
                                        cudaStream_t stream = nullptr, CPU_DEVICE_HERE) {
  return cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), grid, block, arguments,
                                     shared_bytes, stream, file, line);
}

// --- with attributes ----------------------------------------------------------------------------

namespace cpu_device {
/// The shape that a configuration asks for; fails for attributes that are not there.
cudaError_t shape_of(const cudaLaunchConfig_t* config, launch_shape& shape);
cudaError_t largest_cluster(int* blocks, const void* kernel, const cudaLaunchConfig_t* config);
cudaError_t active_clusters(int* clusters, const void* kernel, const cudaLaunchConfig_t* config);

/// The configuration of a launch, and the line that launches.
struct config_of_line {
  config_of_line(const cudaLaunchConfig_t* of, CPU_DEVICE_HERE)
      : config(of), file(file), line(line) {}
  const cudaLaunchConfig_t* config;
  const char* file;
  int line;
};
}  // namespace cpu_device

inline cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel,
                                       void** arguments, CPU_DEVICE_HERE) {
  cpu_device::launch_shape shape{};
  const cudaError_t status = cpu_device::shape_of(config, shape);
  if (status != cudaSuccess) return status;
  return cpu_device::launch_by_address(kernel, shape, arguments, file, line);
}
template <class... P>
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, void (*kernel)(P...),
                                void** arguments, CPU_DEVICE_HERE) {
  return cudaLaunchKernelExC(config, reinterpret_cast<const void*>(kernel), arguments, file, line);
}

/// The arguments are converted to the kernel's parameters, as in a call.
template <class... P, class... Args>
cudaError_t cudaLaunchKernelEx(cpu_device::config_of_line how, void (*kernel)(P...),
                               Args&&... arguments) {
  static_assert(sizeof...(P) == sizeof...(Args), "the kernel takes another number of arguments");
  cpu_device::launch_shape shape{};
  const cudaError_t status = cpu_device::shape_of(how.config, shape);
  if (status != cudaSuccess) return status;
  const auto* address = reinterpret_cast<const void*>(kernel);
  const auto launch = [&](P... args) {
    return cpu_device::submit_call(
        {cpu_device::name_of_kernel(address, "a kernel"), how.file, how.line}, shape,
        typename cpu_device::pointer_launch<P...>::call{kernel, {args...}}, address, args...);
  };
  return launch(std::forward<Args>(arguments)...);
}

/// The largest cluster that the kernel can be launched with. The configuration's own is ignored.
template <class Kernel>
cudaError_t cudaOccupancyMaxPotentialClusterSize(int* blocks, Kernel* kernel,
                                                 const cudaLaunchConfig_t* config) {
  return cpu_device::largest_cluster(blocks, reinterpret_cast<const void*>(kernel), config);
}
/// How many clusters of the configuration's size (or the kernel's) run at the same time.
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, Kernel* kernel,
                                           const cudaLaunchConfig_t* config) {
  return cpu_device::active_clusters(clusters, reinterpret_cast<const void*>(kernel), config);
}
#else
CPU_DEVICE_NEEDS_KERNELS(cudaLaunchKernel);
CPU_DEVICE_NEEDS_KERNELS(cudaLaunchCooperativeKernel);
CPU_DEVICE_NEEDS_KERNELS(cudaLaunchKernelExC);
CPU_DEVICE_NEEDS_KERNELS(cudaOccupancyMaxPotentialClusterSize);
CPU_DEVICE_NEEDS_KERNELS(cudaOccupancyMaxActiveClusters);
#endif
