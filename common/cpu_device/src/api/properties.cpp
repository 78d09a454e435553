// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What devices and kernels say of themselves: properties, attributes, occupancy.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string>

#include "api/arrays.hpp"
#include "api/calls.hpp"
#include "api/kernels.hpp"
#include "base/memory.hpp"
#include "context/device.hpp"
#include "cpu_device.h"
#include "cpu_device/textures.h"
#include "engine/engine.hpp"

namespace cpu_device {
namespace {

int host_clock_khz() {
  std::FILE* file = std::fopen("/proc/cpuinfo", "r");
  if (file == nullptr) return 1000000;
  char line[256];
  double mhz = 1000;
  while (std::fgets(line, sizeof line, file) != nullptr)
    if (std::sscanf(line, "cpu MHz : %lf", &mhz) == 1) break;
  std::fclose(file);
  return static_cast<int>(mhz * 1000);
}

/// One answer, though the host's clock moves.
int clock_khz() {
  static const int khz = host_clock_khz();
  return khz;
}

int texture_1d_linear_width() {
  std::size_t elements = 0;
  const cudaChannelFormatDesc bytes = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};
  cudaDeviceGetTexture1DLinearMaxWidth(&elements, &bytes, 0);
  return static_cast<int>(elements);
}

template <class T>
int number(T value) {
  return static_cast<int>(value);
}

struct attribute_value {
  cudaDeviceAttr attribute;
  int (*value)(const cudaDeviceProp& p);
};
// KernelExecTimeout is the watchdog; MemoryClockRate is nominal, since hosts do not tell.
constexpr attribute_value kAttributes[] = {
    {cudaDevAttrMaxThreadsPerBlock,
     [](const cudaDeviceProp& p) { return number(p.maxThreadsPerBlock); }},
    {cudaDevAttrMaxBlockDimX, [](const cudaDeviceProp& p) { return number(p.maxThreadsDim[0]); }},
    {cudaDevAttrMaxBlockDimY, [](const cudaDeviceProp& p) { return number(p.maxThreadsDim[1]); }},
    {cudaDevAttrMaxBlockDimZ, [](const cudaDeviceProp& p) { return number(p.maxThreadsDim[2]); }},
    {cudaDevAttrMaxGridDimX, [](const cudaDeviceProp& p) { return number(p.maxGridSize[0]); }},
    {cudaDevAttrMaxGridDimY, [](const cudaDeviceProp& p) { return number(p.maxGridSize[1]); }},
    {cudaDevAttrMaxGridDimZ, [](const cudaDeviceProp& p) { return number(p.maxGridSize[2]); }},
    {cudaDevAttrMaxSharedMemoryPerBlock,
     [](const cudaDeviceProp& p) { return number(p.sharedMemPerBlock); }},
    {cudaDevAttrTotalConstantMemory,
     [](const cudaDeviceProp& p) { return number(p.totalConstMem); }},
    {cudaDevAttrWarpSize, [](const cudaDeviceProp& p) { return number(p.warpSize); }},
    {cudaDevAttrMaxPitch, [](const cudaDeviceProp& p) { return number(p.memPitch); }},
    {cudaDevAttrMaxRegistersPerBlock,
     [](const cudaDeviceProp& p) { return number(p.regsPerBlock); }},
    {cudaDevAttrClockRate, [](const cudaDeviceProp&) { return number(clock_khz()); }},
    {cudaDevAttrTextureAlignment,
     [](const cudaDeviceProp& p) { return number(p.textureAlignment); }},
    {cudaDevAttrGpuOverlap, [](const cudaDeviceProp&) { return number(1); }},
    {cudaDevAttrMultiProcessorCount,
     [](const cudaDeviceProp& p) { return number(p.multiProcessorCount); }},
    {cudaDevAttrKernelExecTimeout, [](const cudaDeviceProp&) { return number(1); }},
    {cudaDevAttrIntegrated, [](const cudaDeviceProp& p) { return number(p.integrated); }},
    {cudaDevAttrCanMapHostMemory,
     [](const cudaDeviceProp& p) { return number(p.canMapHostMemory); }},
    {cudaDevAttrComputeMode, [](const cudaDeviceProp&) { return number(0); }},
    {cudaDevAttrMaxTexture1DWidth, [](const cudaDeviceProp& p) { return number(p.maxTexture1D); }},
    {cudaDevAttrMaxTexture2DWidth,
     [](const cudaDeviceProp& p) { return number(p.maxTexture2D[0]); }},
    {cudaDevAttrMaxTexture2DHeight,
     [](const cudaDeviceProp& p) { return number(p.maxTexture2D[1]); }},
    {cudaDevAttrMaxTexture3DWidth,
     [](const cudaDeviceProp& p) { return number(p.maxTexture3D[0]); }},
    {cudaDevAttrMaxTexture3DHeight,
     [](const cudaDeviceProp& p) { return number(p.maxTexture3D[1]); }},
    {cudaDevAttrMaxTexture3DDepth,
     [](const cudaDeviceProp& p) { return number(p.maxTexture3D[2]); }},
    {cudaDevAttrMaxTexture2DLayeredWidth,
     [](const cudaDeviceProp& p) { return number(p.maxTexture2DLayered[0]); }},
    {cudaDevAttrMaxTexture2DLayeredHeight,
     [](const cudaDeviceProp& p) { return number(p.maxTexture2DLayered[1]); }},
    {cudaDevAttrMaxTexture2DLayeredLayers,
     [](const cudaDeviceProp& p) { return number(p.maxTexture2DLayered[2]); }},
    {cudaDevAttrSurfaceAlignment,
     [](const cudaDeviceProp& p) { return number(p.surfaceAlignment); }},
    {cudaDevAttrConcurrentKernels,
     [](const cudaDeviceProp& p) { return number(p.concurrentKernels); }},
    {cudaDevAttrEccEnabled, [](const cudaDeviceProp& p) { return number(p.ECCEnabled); }},
    {cudaDevAttrPciBusId, [](const cudaDeviceProp& p) { return number(p.pciBusID); }},
    {cudaDevAttrPciDeviceId, [](const cudaDeviceProp& p) { return number(p.pciDeviceID); }},
    {cudaDevAttrTccDriver, [](const cudaDeviceProp& p) { return number(p.tccDriver); }},
    {cudaDevAttrMemoryClockRate, [](const cudaDeviceProp&) { return number(1600000); }},
    {cudaDevAttrGlobalMemoryBusWidth,
     [](const cudaDeviceProp& p) { return number(p.memoryBusWidth); }},
    {cudaDevAttrL2CacheSize, [](const cudaDeviceProp& p) { return number(p.l2CacheSize); }},
    {cudaDevAttrMaxThreadsPerMultiProcessor,
     [](const cudaDeviceProp& p) { return number(p.maxThreadsPerMultiProcessor); }},
    {cudaDevAttrAsyncEngineCount,
     [](const cudaDeviceProp& p) { return number(p.asyncEngineCount); }},
    {cudaDevAttrUnifiedAddressing,
     [](const cudaDeviceProp& p) { return number(p.unifiedAddressing); }},
    {cudaDevAttrMaxTexture1DLayeredWidth,
     [](const cudaDeviceProp& p) { return number(p.maxTexture1DLayered[0]); }},
    {cudaDevAttrMaxTexture1DLayeredLayers,
     [](const cudaDeviceProp& p) { return number(p.maxTexture1DLayered[1]); }},
    {cudaDevAttrMaxTexture2DGatherWidth,
     [](const cudaDeviceProp& p) { return number(p.maxTexture2DGather[0]); }},
    {cudaDevAttrMaxTexture2DGatherHeight,
     [](const cudaDeviceProp& p) { return number(p.maxTexture2DGather[1]); }},
    {cudaDevAttrMaxTexture3DWidthAlt,
     [](const cudaDeviceProp& p) { return number(p.maxTexture3DAlt[0]); }},
    {cudaDevAttrMaxTexture3DHeightAlt,
     [](const cudaDeviceProp& p) { return number(p.maxTexture3DAlt[1]); }},
    {cudaDevAttrMaxTexture3DDepthAlt,
     [](const cudaDeviceProp& p) { return number(p.maxTexture3DAlt[2]); }},
    {cudaDevAttrPciDomainId, [](const cudaDeviceProp& p) { return number(p.pciDomainID); }},
    {cudaDevAttrTexturePitchAlignment,
     [](const cudaDeviceProp& p) { return number(p.texturePitchAlignment); }},
    {cudaDevAttrMaxTextureCubemapWidth,
     [](const cudaDeviceProp& p) { return number(p.maxTextureCubemap); }},
    {cudaDevAttrMaxTextureCubemapLayeredWidth,
     [](const cudaDeviceProp& p) { return number(p.maxTextureCubemapLayered[0]); }},
    {cudaDevAttrMaxTextureCubemapLayeredLayers,
     [](const cudaDeviceProp& p) { return number(p.maxTextureCubemapLayered[1]); }},
    {cudaDevAttrMaxSurface1DWidth, [](const cudaDeviceProp& p) { return number(p.maxSurface1D); }},
    {cudaDevAttrMaxSurface2DWidth,
     [](const cudaDeviceProp& p) { return number(p.maxSurface2D[0]); }},
    {cudaDevAttrMaxSurface2DHeight,
     [](const cudaDeviceProp& p) { return number(p.maxSurface2D[1]); }},
    {cudaDevAttrMaxSurface3DWidth,
     [](const cudaDeviceProp& p) { return number(p.maxSurface3D[0]); }},
    {cudaDevAttrMaxSurface3DHeight,
     [](const cudaDeviceProp& p) { return number(p.maxSurface3D[1]); }},
    {cudaDevAttrMaxSurface3DDepth,
     [](const cudaDeviceProp& p) { return number(p.maxSurface3D[2]); }},
    {cudaDevAttrMaxSurface1DLayeredWidth,
     [](const cudaDeviceProp& p) { return number(p.maxSurface1DLayered[0]); }},
    {cudaDevAttrMaxSurface1DLayeredLayers,
     [](const cudaDeviceProp& p) { return number(p.maxSurface1DLayered[1]); }},
    {cudaDevAttrMaxSurface2DLayeredWidth,
     [](const cudaDeviceProp& p) { return number(p.maxSurface2DLayered[0]); }},
    {cudaDevAttrMaxSurface2DLayeredHeight,
     [](const cudaDeviceProp& p) { return number(p.maxSurface2DLayered[1]); }},
    {cudaDevAttrMaxSurface2DLayeredLayers,
     [](const cudaDeviceProp& p) { return number(p.maxSurface2DLayered[2]); }},
    {cudaDevAttrMaxSurfaceCubemapWidth,
     [](const cudaDeviceProp& p) { return number(p.maxSurfaceCubemap); }},
    {cudaDevAttrMaxSurfaceCubemapLayeredWidth,
     [](const cudaDeviceProp& p) { return number(p.maxSurfaceCubemapLayered[0]); }},
    {cudaDevAttrMaxSurfaceCubemapLayeredLayers,
     [](const cudaDeviceProp& p) { return number(p.maxSurfaceCubemapLayered[1]); }},
    {cudaDevAttrMaxTexture1DLinearWidth,
     [](const cudaDeviceProp&) { return number(texture_1d_linear_width()); }},
    {cudaDevAttrMaxTexture2DLinearWidth,
     [](const cudaDeviceProp& p) { return number(p.maxTexture2DLinear[0]); }},
    {cudaDevAttrMaxTexture2DLinearHeight,
     [](const cudaDeviceProp& p) { return number(p.maxTexture2DLinear[1]); }},
    {cudaDevAttrMaxTexture2DLinearPitch,
     [](const cudaDeviceProp& p) { return number(p.maxTexture2DLinear[2]); }},
    {cudaDevAttrMaxTexture2DMipmappedWidth,
     [](const cudaDeviceProp& p) { return number(p.maxTexture2DMipmap[0]); }},
    {cudaDevAttrMaxTexture2DMipmappedHeight,
     [](const cudaDeviceProp& p) { return number(p.maxTexture2DMipmap[1]); }},
    {cudaDevAttrComputeCapabilityMajor, [](const cudaDeviceProp& p) { return number(p.major); }},
    {cudaDevAttrComputeCapabilityMinor, [](const cudaDeviceProp& p) { return number(p.minor); }},
    {cudaDevAttrMaxTexture1DMipmappedWidth,
     [](const cudaDeviceProp& p) { return number(p.maxTexture1DMipmap); }},
    {cudaDevAttrStreamPrioritiesSupported,
     [](const cudaDeviceProp& p) { return number(p.streamPrioritiesSupported); }},
    {cudaDevAttrGlobalL1CacheSupported,
     [](const cudaDeviceProp& p) { return number(p.globalL1CacheSupported); }},
    {cudaDevAttrLocalL1CacheSupported,
     [](const cudaDeviceProp& p) { return number(p.localL1CacheSupported); }},
    {cudaDevAttrMaxSharedMemoryPerMultiprocessor,
     [](const cudaDeviceProp& p) { return number(p.sharedMemPerMultiprocessor); }},
    {cudaDevAttrMaxRegistersPerMultiprocessor,
     [](const cudaDeviceProp& p) { return number(p.regsPerMultiprocessor); }},
    {cudaDevAttrManagedMemory, [](const cudaDeviceProp& p) { return number(p.managedMemory); }},
    {cudaDevAttrIsMultiGpuBoard, [](const cudaDeviceProp& p) { return number(p.isMultiGpuBoard); }},
    {cudaDevAttrMultiGpuBoardGroupID,
     [](const cudaDeviceProp& p) { return number(p.multiGpuBoardGroupID); }},
    {cudaDevAttrHostNativeAtomicSupported,
     [](const cudaDeviceProp& p) { return number(p.hostNativeAtomicSupported); }},
    {cudaDevAttrSingleToDoublePrecisionPerfRatio, [](const cudaDeviceProp&) { return number(2); }},
    {cudaDevAttrPageableMemoryAccess,
     [](const cudaDeviceProp& p) { return number(p.pageableMemoryAccess); }},
    {cudaDevAttrConcurrentManagedAccess,
     [](const cudaDeviceProp& p) { return number(p.concurrentManagedAccess); }},
    {cudaDevAttrComputePreemptionSupported,
     [](const cudaDeviceProp& p) { return number(p.computePreemptionSupported); }},
    {cudaDevAttrCanUseHostPointerForRegisteredMem,
     [](const cudaDeviceProp& p) { return number(p.canUseHostPointerForRegisteredMem); }},
    {cudaDevAttrCooperativeLaunch,
     [](const cudaDeviceProp& p) { return number(p.cooperativeLaunch); }},
    {cudaDevAttrMaxSharedMemoryPerBlockOptin,
     [](const cudaDeviceProp& p) { return number(p.sharedMemPerBlockOptin); }},
    {cudaDevAttrCanFlushRemoteWrites, [](const cudaDeviceProp&) { return number(0); }},
    {cudaDevAttrHostRegisterSupported,
     [](const cudaDeviceProp& p) { return number(p.hostRegisterSupported); }},
    {cudaDevAttrPageableMemoryAccessUsesHostPageTables,
     [](const cudaDeviceProp& p) { return number(p.pageableMemoryAccessUsesHostPageTables); }},
    {cudaDevAttrDirectManagedMemAccessFromHost,
     [](const cudaDeviceProp& p) { return number(p.directManagedMemAccessFromHost); }},
    {cudaDevAttrMaxBlocksPerMultiprocessor,
     [](const cudaDeviceProp& p) { return number(p.maxBlocksPerMultiProcessor); }},
    {cudaDevAttrMaxPersistingL2CacheSize,
     [](const cudaDeviceProp& p) { return number(p.persistingL2CacheMaxSize); }},
    {cudaDevAttrMaxAccessPolicyWindowSize,
     [](const cudaDeviceProp& p) { return number(p.accessPolicyMaxWindowSize); }},
    {cudaDevAttrReservedSharedMemoryPerBlock,
     [](const cudaDeviceProp& p) { return number(p.reservedSharedMemPerBlock); }},
    {cudaDevAttrSparseCudaArraySupported,
     [](const cudaDeviceProp& p) { return number(p.sparseCudaArraySupported); }},
    {cudaDevAttrHostRegisterReadOnlySupported,
     [](const cudaDeviceProp& p) { return number(p.hostRegisterReadOnlySupported); }},
    {cudaDevAttrTimelineSemaphoreInteropSupported,
     [](const cudaDeviceProp& p) { return number(p.timelineSemaphoreInteropSupported); }},
    {cudaDevAttrMemoryPoolsSupported,
     [](const cudaDeviceProp& p) { return number(p.memoryPoolsSupported); }},
    {cudaDevAttrGPUDirectRDMASupported,
     [](const cudaDeviceProp& p) { return number(p.gpuDirectRDMASupported); }},
    {cudaDevAttrGPUDirectRDMAFlushWritesOptions,
     [](const cudaDeviceProp& p) { return number(p.gpuDirectRDMAFlushWritesOptions); }},
    {cudaDevAttrGPUDirectRDMAWritesOrdering,
     [](const cudaDeviceProp& p) { return number(p.gpuDirectRDMAWritesOrdering); }},
    {cudaDevAttrMemoryPoolSupportedHandleTypes,
     [](const cudaDeviceProp& p) { return number(p.memoryPoolSupportedHandleTypes); }},
    {cudaDevAttrClusterLaunch, [](const cudaDeviceProp& p) { return number(p.clusterLaunch); }},
    {cudaDevAttrDeferredMappingCudaArraySupported,
     [](const cudaDeviceProp& p) { return number(p.deferredMappingCudaArraySupported); }},
    {cudaDevAttrIpcEventSupport,
     [](const cudaDeviceProp& p) { return number(p.ipcEventSupported); }},
    {cudaDevAttrMemSyncDomainCount, [](const cudaDeviceProp&) { return number(1); }},
    {cudaDevAttrNumaConfig, [](const cudaDeviceProp& p) { return number(p.deviceNumaConfig); }},
    {cudaDevAttrNumaId, [](const cudaDeviceProp& p) { return number(p.deviceNumaId); }},
    {cudaDevAttrMpsEnabled, [](const cudaDeviceProp& p) { return number(p.mpsEnabled); }},
    {cudaDevAttrHostNumaId, [](const cudaDeviceProp& p) { return number(p.hostNumaId); }},
};

}  // namespace

cudaError_t function_attributes(cudaFuncAttributes* attributes, const void* kernel) {
  return call(api::cudaFuncGetAttributes, [&] {
    if (attributes == nullptr || kernel == nullptr) return fail(cudaErrorInvalidDeviceFunction);
    *attributes = {};
    attributes->maxThreadsPerBlock = static_cast<int>(thread_limit_of(kernel));
    attributes->numRegs = 32;
    attributes->ptxVersion = attributes->binaryVersion = 90;
    attributes->maxDynamicSharedSizeBytes = static_cast<int>(shared_limit_of(kernel));
    const dim3 cluster = cluster_dims_of(kernel);
    attributes->clusterDimMustBeSet = cluster.x != 0;
    attributes->requiredClusterWidth = static_cast<int>(cluster.x);
    attributes->requiredClusterHeight = static_cast<int>(cluster.y);
    attributes->requiredClusterDepth = static_cast<int>(cluster.z);
    attributes->nonPortableClusterSizeAllowed = cluster_limit_of(kernel) > kPortableCluster;
    return cudaSuccess;
  });
}

// Shared memory is given out in units, with what CUDA adds for each block.
constexpr std::size_t kSharedUnit = 128, kSharedReserved = 1024;
constexpr std::size_t kSharedOfMultiprocessor = 228 * 1024;

// The kernel's __launch_bounds__ do not count: a GPU tells how many blocks would fit all the same.
int blocks_that_fit(unsigned block_size, std::size_t dynamic_shared_bytes) {
  if (block_size > kMaxThreads || dynamic_shared_bytes > kSharedOptinLimit) return 0;
  int fitting = static_cast<int>(64 / ((block_size + 31) / 32));  // whole warps
  const std::size_t units =
      (dynamic_shared_bytes + kSharedReserved + kSharedUnit - 1) / kSharedUnit;
  fitting = std::min(fitting, static_cast<int>(kSharedOfMultiprocessor / (units * kSharedUnit)));
  return std::clamp(fitting, 1, static_cast<int>(blocks_per_worker()));
}

cudaError_t active_blocks(int* blocks, const void* kernel, int block_size,
                          std::size_t dynamic_shared_bytes) {
  return call(api::cudaOccupancyMaxActiveBlocksPerMultiprocessor, [&] {
    if (blocks == nullptr || block_size < 1) return fail(cudaErrorInvalidValue);
    // A kernel that has not been allowed so much cannot be launched: a GPU says that none fits.
    *blocks = dynamic_shared_bytes > shared_limit_of(kernel)
                  ? 0
                  : blocks_that_fit(static_cast<unsigned>(block_size), dynamic_shared_bytes);
    return cudaSuccess;
  });
}

cudaError_t set_function_cache(const void* kernel, cudaFuncCache config) {
  return call(api::cudaFuncSetCacheConfig, [&] {
    if (kernel == nullptr) return fail(cudaErrorInvalidDeviceFunction);
    if (static_cast<unsigned>(config) > cudaFuncCachePreferEqual)
      return fail(cudaErrorInvalidValue);
    return cudaSuccess;  // a hint, and there is nothing to configure here
  });
}

cudaError_t shared_bytes_for(std::size_t* bytes, int blocks, int block_size) {
  return call(api::cudaOccupancyAvailableDynamicSMemPerBlock, [&] {
    if (bytes == nullptr || blocks < 1 || block_size < 1 ||
        blocks > blocks_that_fit(static_cast<unsigned>(block_size), 0))
      return fail(cudaErrorInvalidValue);
    const std::size_t each =
        kSharedOfMultiprocessor / static_cast<std::size_t>(blocks) / kSharedUnit * kSharedUnit;
    *bytes = std::min(kSharedOptinLimit, each - std::min(each, kSharedReserved));
    return cudaSuccess;
  });
}

}  // namespace cpu_device

using namespace cpu_device;

namespace {
std::atomic<const cudaDeviceProp*> said_of_devices = nullptr;
std::atomic<int> said_of = kEveryDevice;
struct said_of_an_attribute {
  int attribute, value, of;
};
std::mutex said_mutex;
std::optional<said_of_an_attribute> said_of_attribute;

/// What the attribute of the device is said to be, if anything.
std::optional<int> said_of_this(int attribute, int device) {
  const std::lock_guard lock(said_mutex);
  if (!said_of_attribute || said_of_attribute->attribute != attribute) return std::nullopt;
  const int of = said_of_attribute->of;
  return of == kEveryDevice || of == device ? std::optional(said_of_attribute->value)
                                            : std::nullopt;
}
}  // namespace
void cpu_device::set_said_of_devices(const cudaDeviceProp* what, int of) {
  said_of = of;
  said_of_devices = what;
}
void cpu_device::set_said_of_attribute(int attribute, const int* value, int of) {
  const std::lock_guard lock(said_mutex);
  said_of_attribute.reset();
  if (value != nullptr) said_of_attribute = {attribute, *value, of};
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  return call(api::cudaGetDeviceProperties, [&] {
    if (p == nullptr) return fail(cudaErrorInvalidValue);
    if (!is_device(device)) return no_such_device(device);
    const bool is_meant = said_of == kEveryDevice || said_of == device;
    if (const cudaDeviceProp* const said = said_of_devices.load(); said != nullptr && is_meant) {
      *p = *said;
      return cudaSuccess;
    }
    *p = {};
    std::snprintf(p->name, sizeof p->name, "CPU device, %u worker%s", worker_count(),
                  worker_count() == 1 ? "" : "s");
    p->uuid.bytes[0] = static_cast<char>(device_slot(device) + 1);
    p->totalGlobalMem = device_capacity();
    p->sharedMemPerBlock = kSharedLimit;
    p->regsPerBlock = p->regsPerMultiprocessor = 65536;
    p->warpSize = 32;
    p->memPitch = 2147483647;
    p->maxThreadsPerBlock = static_cast<int>(kMaxThreads);
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = 2147483647;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->totalConstMem = 65536;
    p->major = 9;
    p->minor = 0;
    p->textureAlignment = 256;  // what cudaMalloc gives
    p->texturePitchAlignment = 32;
    p->multiProcessorCount = static_cast<int>(worker_count());
    p->integrated = 0;
    p->canMapHostMemory = 1;
    set_texture_limits(*p);
    p->concurrentKernels = 1;
    p->pciBusID = device_slot(device) + 1;
    p->asyncEngineCount = 2;
    p->unifiedAddressing = 1;
    p->memoryBusWidth = 64;
    p->l2CacheSize = static_cast<int>(std::max(0L, sysconf(_SC_LEVEL2_CACHE_SIZE)));
    p->maxThreadsPerMultiProcessor = 2048;
    p->streamPrioritiesSupported = 1;
    p->globalL1CacheSupported = p->localL1CacheSupported = 1;
    p->sharedMemPerMultiprocessor = kSharedOfMultiprocessor;
    p->managedMemory = 1;
    p->concurrentManagedAccess = 1;
    p->canUseHostPointerForRegisteredMem = 1;
    p->cooperativeLaunch = 1;
    p->sharedMemPerBlockOptin = kSharedOptinLimit;
    p->maxBlocksPerMultiProcessor = static_cast<int>(blocks_per_worker());
    p->reservedSharedMemPerBlock = kSharedReserved;
    p->hostRegisterSupported = 1;
    p->memoryPoolsSupported = 1;
    p->hostRegisterReadOnlySupported = 1;
    p->ipcEventSupported = 1;
    p->clusterLaunch = 1;
    p->deviceNumaId = p->hostNumaId = -1;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return call(api::cudaDeviceGetAttribute, [&] {
    if (value == nullptr) return fail(cudaErrorInvalidValue);
    cudaDeviceProp p;
    const cudaError_t status = cudaGetDeviceProperties(&p, device);
    if (status != cudaSuccess) return status;
    for (const attribute_value& a : kAttributes) {
      if (a.attribute != attribute) continue;
      *value = said_of_this(attribute, device).value_or(a.value(p));
      return cudaSuccess;
    }
    return fail(cudaErrorInvalidValue, "cudaDeviceGetAttribute: attribute " +
                                           std::to_string(static_cast<int>(attribute)) +
                                           " is not known to the CPU device");
  });
}
