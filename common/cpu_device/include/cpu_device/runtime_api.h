// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The host side of CUDA's runtime API, with the names, values and error codes of CUDA 13.
// CUDA's documentation says what a function does; where the CPU device differs, a comment says so.
//
// In this header and the others of the runtime API, what is extern "C" comes first, for C as well
// (so `enum` and `struct` come before their names); overloads and templates follow.
#pragma once

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
#include <cstddef>
#include <cstdint>
#include <type_traits>
#endif

#include "cpu_device/vector_types.h"

#define CUDART_VERSION 13000

#ifdef __cplusplus
extern "C" {
#endif

// --- errors -------------------------------------------------------------------------------------

enum cudaError {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInitializationError = 3,
  cudaErrorCudartUnloading = 4,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInvalidPitchValue = 12,
  cudaErrorInvalidSymbol = 13,
  cudaErrorInvalidHostPointer = 16,
  cudaErrorInvalidDevicePointer = 17,
  cudaErrorInvalidTexture = 18,
  cudaErrorInvalidTextureBinding = 19,
  cudaErrorInvalidChannelDescriptor = 20,
  cudaErrorInvalidMemcpyDirection = 21,
  cudaErrorInvalidFilterSetting = 26,
  cudaErrorInvalidNormSetting = 27,
  cudaErrorInsufficientDriver = 35,
  cudaErrorInvalidSurface = 37,
  cudaErrorMissingConfiguration = 52,
  cudaErrorPriorLaunchFailure = 53,
  cudaErrorInvalidDeviceFunction = 98,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorDeviceUninitialized = 201,
  cudaErrorMapBufferObjectFailed = 205,
  cudaErrorUnmapBufferObjectFailed = 206,
  cudaErrorAlreadyMapped = 208,
  cudaErrorNoKernelImageForDevice = 209,
  cudaErrorNotMapped = 211,
  cudaErrorNotMappedAsArray = 212,
  cudaErrorNotMappedAsPointer = 213,
  cudaErrorUnsupportedLimit = 215,
  cudaErrorPeerAccessUnsupported = 217,
  cudaErrorInvalidGraphicsContext = 219,
  cudaErrorOperatingSystem = 304,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorIllegalState = 401,
  cudaErrorNotReady = 600,
  cudaErrorIllegalAddress = 700,
  cudaErrorLaunchOutOfResources = 701,
  cudaErrorLaunchTimeout = 702,
  cudaErrorPeerAccessAlreadyEnabled = 704,
  cudaErrorPeerAccessNotEnabled = 705,
  cudaErrorAssert = 710,
  cudaErrorHostMemoryAlreadyRegistered = 712,
  cudaErrorHostMemoryNotRegistered = 713,
  cudaErrorHardwareStackError = 714,
  cudaErrorMisalignedAddress = 716,
  cudaErrorLaunchFailure = 719,
  cudaErrorCooperativeLaunchTooLarge = 720,
  cudaErrorNotPermitted = 800,
  cudaErrorNotSupported = 801,
  cudaErrorStreamCaptureUnsupported = 900,
  cudaErrorStreamCaptureInvalidated = 901,
  cudaErrorStreamCaptureMerge = 902,
  cudaErrorStreamCaptureUnmatched = 903,
  cudaErrorStreamCaptureUnjoined = 904,
  cudaErrorStreamCaptureIsolation = 905,
  cudaErrorStreamCaptureImplicit = 906,
  cudaErrorCapturedEvent = 907,
  cudaErrorStreamCaptureWrongThread = 908,
  cudaErrorTimeout = 909,
  cudaErrorGraphExecUpdateFailure = 910,
  cudaErrorInvalidClusterSize = 912,
  cudaErrorUnknown = 999,
};
typedef enum cudaError cudaError_t;

cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);

// --- devices ------------------------------------------------------------------------------------

typedef struct cudaUUID_st {
  char bytes[16];
} cudaUUID_t;

struct cudaDeviceProp {
  char name[256];
  cudaUUID_t uuid;
  size_t totalGlobalMem;
  size_t sharedMemPerBlock;
  int regsPerBlock;
  int warpSize;
  size_t memPitch;
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  size_t totalConstMem;
  int major;
  int minor;
  size_t textureAlignment;
  size_t texturePitchAlignment;
  int multiProcessorCount;
  int integrated;
  int canMapHostMemory;
  int maxTexture1D;
  int maxTexture1DMipmap;
  int maxTexture2D[2];
  int maxTexture2DMipmap[2];
  int maxTexture2DLinear[3];
  int maxTexture2DGather[2];
  int maxTexture3D[3];
  int maxTexture3DAlt[3];
  int maxTextureCubemap;
  int maxTexture1DLayered[2];
  int maxTexture2DLayered[3];
  int maxTextureCubemapLayered[2];
  int maxSurface1D;
  int maxSurface2D[2];
  int maxSurface3D[3];
  int maxSurface1DLayered[2];
  int maxSurface2DLayered[3];
  int maxSurfaceCubemap;
  int maxSurfaceCubemapLayered[2];
  size_t surfaceAlignment;
  int concurrentKernels;
  int ECCEnabled;
  int pciBusID;
  int pciDeviceID;
  int pciDomainID;
  int tccDriver;
  int asyncEngineCount;
  int unifiedAddressing;
  int memoryBusWidth;
  int l2CacheSize;
  int persistingL2CacheMaxSize;
  int maxThreadsPerMultiProcessor;
  int streamPrioritiesSupported;
  int globalL1CacheSupported;
  int localL1CacheSupported;
  size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor;
  int managedMemory;
  int isMultiGpuBoard;
  int multiGpuBoardGroupID;
  int hostNativeAtomicSupported;
  int pageableMemoryAccess;
  int concurrentManagedAccess;
  int computePreemptionSupported;
  int canUseHostPointerForRegisteredMem;
  int cooperativeLaunch;
  size_t sharedMemPerBlockOptin;
  int pageableMemoryAccessUsesHostPageTables;
  int directManagedMemAccessFromHost;
  int maxBlocksPerMultiProcessor;
  size_t reservedSharedMemPerBlock;
  int hostRegisterSupported;
  int memoryPoolsSupported;
  char luid[8];
  unsigned int luidDeviceNodeMask;
  int accessPolicyMaxWindowSize;
  int sparseCudaArraySupported;
  int hostRegisterReadOnlySupported;
  int timelineSemaphoreInteropSupported;
  int gpuDirectRDMASupported;
  unsigned int gpuDirectRDMAFlushWritesOptions;
  int gpuDirectRDMAWritesOrdering;
  unsigned int memoryPoolSupportedHandleTypes;
  int deferredMappingCudaArraySupported;
  int ipcEventSupported;
  int clusterLaunch;
  int unifiedFunctionPointers;
  int deviceNumaConfig;
  int deviceNumaId;
  int mpsEnabled;
  int hostNumaId;
  unsigned int gpuPciDeviceID;
  unsigned int gpuPciSubsystemID;
  int hostNumaMultinodeIpcSupported;
};

/// Who may use a device: the answers to cudaDevAttrComputeMode. The CPU device is always open.
enum cudaComputeMode {
  cudaComputeModeDefault = 0,
  cudaComputeModeExclusive = 1,
  cudaComputeModeProhibited = 2,
  cudaComputeModeExclusiveProcess = 3
};

enum cudaDeviceAttr {
  cudaDevAttrMaxThreadsPerBlock = 1,
  cudaDevAttrMaxBlockDimX = 2,
  cudaDevAttrMaxBlockDimY = 3,
  cudaDevAttrMaxBlockDimZ = 4,
  cudaDevAttrMaxGridDimX = 5,
  cudaDevAttrMaxGridDimY = 6,
  cudaDevAttrMaxGridDimZ = 7,
  cudaDevAttrMaxSharedMemoryPerBlock = 8,
  cudaDevAttrTotalConstantMemory = 9,
  cudaDevAttrWarpSize = 10,
  cudaDevAttrMaxPitch = 11,
  cudaDevAttrMaxRegistersPerBlock = 12,
  cudaDevAttrClockRate = 13,
  cudaDevAttrTextureAlignment = 14,
  cudaDevAttrGpuOverlap = 15,
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrKernelExecTimeout = 17,
  cudaDevAttrIntegrated = 18,
  cudaDevAttrCanMapHostMemory = 19,
  cudaDevAttrComputeMode = 20,
  cudaDevAttrMaxTexture1DWidth = 21,
  cudaDevAttrMaxTexture2DWidth = 22,
  cudaDevAttrMaxTexture2DHeight = 23,
  cudaDevAttrMaxTexture3DWidth = 24,
  cudaDevAttrMaxTexture3DHeight = 25,
  cudaDevAttrMaxTexture3DDepth = 26,
  cudaDevAttrMaxTexture2DLayeredWidth = 27,
  cudaDevAttrMaxTexture2DLayeredHeight = 28,
  cudaDevAttrMaxTexture2DLayeredLayers = 29,
  cudaDevAttrSurfaceAlignment = 30,
  cudaDevAttrConcurrentKernels = 31,
  cudaDevAttrEccEnabled = 32,
  cudaDevAttrPciBusId = 33,
  cudaDevAttrPciDeviceId = 34,
  cudaDevAttrTccDriver = 35,
  cudaDevAttrMemoryClockRate = 36,
  cudaDevAttrGlobalMemoryBusWidth = 37,
  cudaDevAttrL2CacheSize = 38,
  cudaDevAttrMaxThreadsPerMultiProcessor = 39,
  cudaDevAttrAsyncEngineCount = 40,
  cudaDevAttrUnifiedAddressing = 41,
  cudaDevAttrMaxTexture1DLayeredWidth = 42,
  cudaDevAttrMaxTexture1DLayeredLayers = 43,
  cudaDevAttrMaxTexture2DGatherWidth = 45,
  cudaDevAttrMaxTexture2DGatherHeight = 46,
  cudaDevAttrMaxTexture3DWidthAlt = 47,
  cudaDevAttrMaxTexture3DHeightAlt = 48,
  cudaDevAttrMaxTexture3DDepthAlt = 49,
  cudaDevAttrPciDomainId = 50,
  cudaDevAttrTexturePitchAlignment = 51,
  cudaDevAttrMaxTextureCubemapWidth = 52,
  cudaDevAttrMaxTextureCubemapLayeredWidth = 53,
  cudaDevAttrMaxTextureCubemapLayeredLayers = 54,
  cudaDevAttrMaxSurface1DWidth = 55,
  cudaDevAttrMaxSurface2DWidth = 56,
  cudaDevAttrMaxSurface2DHeight = 57,
  cudaDevAttrMaxSurface3DWidth = 58,
  cudaDevAttrMaxSurface3DHeight = 59,
  cudaDevAttrMaxSurface3DDepth = 60,
  cudaDevAttrMaxSurface1DLayeredWidth = 61,
  cudaDevAttrMaxSurface1DLayeredLayers = 62,
  cudaDevAttrMaxSurface2DLayeredWidth = 63,
  cudaDevAttrMaxSurface2DLayeredHeight = 64,
  cudaDevAttrMaxSurface2DLayeredLayers = 65,
  cudaDevAttrMaxSurfaceCubemapWidth = 66,
  cudaDevAttrMaxSurfaceCubemapLayeredWidth = 67,
  cudaDevAttrMaxSurfaceCubemapLayeredLayers = 68,
  cudaDevAttrMaxTexture1DLinearWidth = 69,
  cudaDevAttrMaxTexture2DLinearWidth = 70,
  cudaDevAttrMaxTexture2DLinearHeight = 71,
  cudaDevAttrMaxTexture2DLinearPitch = 72,
  cudaDevAttrMaxTexture2DMipmappedWidth = 73,
  cudaDevAttrMaxTexture2DMipmappedHeight = 74,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrMaxTexture1DMipmappedWidth = 77,
  cudaDevAttrStreamPrioritiesSupported = 78,
  cudaDevAttrGlobalL1CacheSupported = 79,
  cudaDevAttrLocalL1CacheSupported = 80,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
  cudaDevAttrMaxRegistersPerMultiprocessor = 82,
  cudaDevAttrManagedMemory = 83,
  cudaDevAttrIsMultiGpuBoard = 84,
  cudaDevAttrMultiGpuBoardGroupID = 85,
  cudaDevAttrHostNativeAtomicSupported = 86,
  cudaDevAttrSingleToDoublePrecisionPerfRatio = 87,
  cudaDevAttrPageableMemoryAccess = 88,
  cudaDevAttrConcurrentManagedAccess = 89,
  cudaDevAttrComputePreemptionSupported = 90,
  cudaDevAttrCanUseHostPointerForRegisteredMem = 91,
  cudaDevAttrCooperativeLaunch = 95,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
  cudaDevAttrCanFlushRemoteWrites = 98,
  cudaDevAttrHostRegisterSupported = 99,
  cudaDevAttrPageableMemoryAccessUsesHostPageTables = 100,
  cudaDevAttrDirectManagedMemAccessFromHost = 101,
  cudaDevAttrMaxBlocksPerMultiprocessor = 106,
  cudaDevAttrMaxPersistingL2CacheSize = 108,
  cudaDevAttrMaxAccessPolicyWindowSize = 109,
  cudaDevAttrReservedSharedMemoryPerBlock = 111,
  cudaDevAttrSparseCudaArraySupported = 112,
  cudaDevAttrHostRegisterReadOnlySupported = 113,
  cudaDevAttrTimelineSemaphoreInteropSupported = 114,
  cudaDevAttrMemoryPoolsSupported = 115,
  cudaDevAttrGPUDirectRDMASupported = 116,
  cudaDevAttrGPUDirectRDMAFlushWritesOptions = 117,
  cudaDevAttrGPUDirectRDMAWritesOrdering = 118,
  cudaDevAttrMemoryPoolSupportedHandleTypes = 119,
  cudaDevAttrClusterLaunch = 120,
  cudaDevAttrDeferredMappingCudaArraySupported = 121,
  cudaDevAttrIpcEventSupport = 125,
  cudaDevAttrMemSyncDomainCount = 126,
  cudaDevAttrNumaConfig = 130,
  cudaDevAttrNumaId = 131,
  cudaDevAttrMpsEnabled = 133,
  cudaDevAttrHostNumaId = 134,
};

cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaInitDevice(int device, unsigned int device_flags, unsigned int flags);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, enum cudaDeviceAttr attribute, int device);
cudaError_t cudaChooseDevice(int* device, const struct cudaDeviceProp* wanted);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceReset(void);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);

#define cudaDeviceScheduleAuto 0U
#define cudaDeviceScheduleSpin 1U
#define cudaDeviceScheduleYield 2U
#define cudaDeviceScheduleBlockingSync 4U
#define cudaDeviceBlockingSync 4U  // its old name
#define cudaDeviceMapHost 8U
cudaError_t cudaSetDeviceFlags(unsigned int flags);
cudaError_t cudaGetDeviceFlags(unsigned int* flags);

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags);
cudaError_t cudaDeviceDisablePeerAccess(int peer);

// --- streams and events -------------------------------------------------------------------------

typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;

#define cudaStreamLegacy ((cudaStream_t)0x1)
#define cudaStreamPerThread ((cudaStream_t)0x2)
#define cudaStreamDefault 0U
#define cudaStreamNonBlocking 1U
#define cudaEventRecordDefault 0U
#define cudaEventRecordExternal 1U  // of a capture: a node that records
#define cudaEventWaitDefault 0U
#define cudaEventWaitExternal 1U  // of a capture: a node that waits
#define cudaEventDefault 0U
#define cudaEventBlockingSync 1U
#define cudaEventDisableTiming 2U
#define cudaEventInterprocess 4U

cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned int flags CPU_DEVICE_DEFAULT(0));
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags);
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority);
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id);
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device);
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
typedef void (*cudaHostFn_t)(void* user_data);
typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void* user_data);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void* user_data);
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t fn, void* user_data,
                                  unsigned int flags);

cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream CPU_DEVICE_DEFAULT(nullptr));
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event,
                                     cudaStream_t stream CPU_DEVICE_DEFAULT(nullptr),
                                     unsigned int flags CPU_DEVICE_DEFAULT(0));
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop);

// --- memory -------------------------------------------------------------------------------------

enum cudaMemcpyKind {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4,
};

enum cudaMemoryType {
  cudaMemoryTypeUnregistered = 0,
  cudaMemoryTypeHost = 1,
  cudaMemoryTypeDevice = 2,
  cudaMemoryTypeManaged = 3,
};

struct cudaPointerAttributes {
  enum cudaMemoryType type;
  int device;
  void* devicePointer;
  void* hostPointer;
};

#define cudaHostAllocDefault 0U
#define cudaHostAllocPortable 1U
#define cudaHostAllocMapped 2U
#define cudaHostAllocWriteCombined 4U
#define cudaHostRegisterDefault 0U
#define cudaHostRegisterPortable 1U
#define cudaHostRegisterMapped 2U
#define cudaHostRegisterReadOnly 8U
#define cudaMemAttachGlobal 1U
#define cudaMemAttachHost 2U

cudaError_t cudaMalloc(void** pointer, size_t bytes);
cudaError_t cudaFree(void* pointer);
cudaError_t cudaMallocHost(void** pointer, size_t bytes);
cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned int flags);
cudaError_t cudaFreeHost(void* pointer);
cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned int flags);
cudaError_t cudaHostUnregister(void* pointer);
cudaError_t cudaHostGetDevicePointer(void** device_pointer, void* host_pointer, unsigned int flags);
cudaError_t cudaHostGetFlags(unsigned int* flags, void* host_pointer);
cudaError_t cudaMallocManaged(void** pointer, size_t bytes,
                              unsigned int flags CPU_DEVICE_DEFAULT(cudaMemAttachGlobal));
cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width_bytes, size_t height);
cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream);
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream);
cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes);
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes* attributes, const void* pointer);

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream CPU_DEVICE_DEFAULT(nullptr));
cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device,
                           size_t bytes);
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                size_t bytes, cudaStream_t stream CPU_DEVICE_DEFAULT(nullptr));
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                         size_t width_bytes, size_t height, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width_bytes, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream CPU_DEVICE_DEFAULT(nullptr));
cudaError_t cudaMemset(void* pointer, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes,
                            cudaStream_t stream CPU_DEVICE_DEFAULT(nullptr));
cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width_bytes, size_t height);
cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width_bytes,
                              size_t height, cudaStream_t stream CPU_DEVICE_DEFAULT(nullptr));

// --- kernels ------------------------------------------------------------------------------------

struct cudaFuncAttributes {
  size_t sharedSizeBytes;
  size_t constSizeBytes;
  size_t localSizeBytes;
  int maxThreadsPerBlock;
  int numRegs;
  int ptxVersion;
  int binaryVersion;
  int cacheModeCA;
  int maxDynamicSharedSizeBytes;
  int preferredShmemCarveout;
  int clusterDimMustBeSet;
  int requiredClusterWidth;
  int requiredClusterHeight;
  int requiredClusterDepth;
  int clusterSchedulingPolicyPreference;
  int nonPortableClusterSizeAllowed;
};

enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9,
  cudaFuncAttributeClusterDimMustBeSet = 10,
  cudaFuncAttributeRequiredClusterWidth = 11,
  cudaFuncAttributeRequiredClusterHeight = 12,
  cudaFuncAttributeRequiredClusterDepth = 13,
  cudaFuncAttributeNonPortableClusterSizeAllowed = 14,
  cudaFuncAttributeClusterSchedulingPolicyPreference = 15,
};
/// Values of that attribute, in percent of what shared memory and the first cache have together.
enum cudaSharedCarveout {
  cudaSharedmemCarveoutDefault = -1,
  cudaSharedmemCarveoutMaxL1 = 0,
  cudaSharedmemCarveoutMaxShared = 100,
};
enum cudaFuncCache {
  cudaFuncCachePreferNone = 0,
  cudaFuncCachePreferShared = 1,
  cudaFuncCachePreferL1 = 2,
  cudaFuncCachePreferEqual = 3,
};
#define cudaOccupancyDefault 0U
#define cudaOccupancyDisableCachingOverride 1U

#ifdef __cplusplus
}  // extern "C"

// --- what only C++ has: overloads, templates, symbols -------------------------------------------

cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned int flags);
cudaError_t cudaMallocHost(void** pointer, std::size_t bytes, unsigned int flags);

namespace cpu_device {
cudaError_t symbol_address(void** pointer, const volatile void* symbol, std::size_t bytes);
cudaError_t copy_to_symbol(void* symbol, std::size_t symbol_bytes, const void* from,
                           std::size_t bytes, std::size_t offset, cudaMemcpyKind kind,
                           cudaStream_t stream, bool wait);
cudaError_t copy_from_symbol(void* to, const void* symbol, std::size_t symbol_bytes,
                             std::size_t bytes, std::size_t offset, cudaMemcpyKind kind,
                             cudaStream_t stream, bool wait);
/// What `&symbol` in place of a symbol gives; `function` is the one that was called.
cudaError_t refuse_symbol_address(const char* function);

/// The place of a pointer to anything, constants included.
template <class T>
void** as_void(T** pointer) {
  return reinterpret_cast<void**>(const_cast<typename std::remove_cv<T>::type**>(pointer));
}
}  // namespace cpu_device

template <class T>
cudaError_t cudaMalloc(T** pointer, std::size_t bytes) {
  return cudaMalloc(cpu_device::as_void(pointer), bytes);
}
template <class T>
cudaError_t cudaMallocHost(T** pointer, std::size_t bytes, unsigned int flags = 0) {
  return cudaMallocHost(cpu_device::as_void(pointer), bytes, flags);
}
template <class T>
cudaError_t cudaHostAlloc(T** pointer, std::size_t bytes, unsigned int flags) {
  return cudaHostAlloc(cpu_device::as_void(pointer), bytes, flags);
}
template <class T>
cudaError_t cudaHostGetDevicePointer(T** device_pointer, void* host_pointer, unsigned int flags) {
  return cudaHostGetDevicePointer(cpu_device::as_void(device_pointer), host_pointer, flags);
}
template <class T>
cudaError_t cudaMallocManaged(T** pointer, std::size_t bytes,
                              unsigned int flags = cudaMemAttachGlobal) {
  return cudaMallocManaged(cpu_device::as_void(pointer), bytes, flags);
}
template <class T>
cudaError_t cudaMallocPitch(T** pointer, std::size_t* pitch, std::size_t width_bytes,
                            std::size_t height) {
  return cudaMallocPitch(cpu_device::as_void(pointer), pitch, width_bytes, height);
}
template <class T>
cudaError_t cudaMallocAsync(T** pointer, std::size_t bytes, cudaStream_t stream) {
  return cudaMallocAsync(cpu_device::as_void(pointer), bytes, stream);
}
// A symbol is the __constant__ or __device__ variable itself, so its size is known.
template <class T>
cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, std::size_t bytes,
                               std::size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  return cpu_device::copy_to_symbol(const_cast<T*>(&symbol), sizeof(T), from, bytes, offset, kind,
                                    nullptr, true);
}
template <class T>
cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, std::size_t bytes,
                                    std::size_t offset = 0,
                                    cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                                    cudaStream_t stream = nullptr) {
  return cpu_device::copy_to_symbol(const_cast<T*>(&symbol), sizeof(T), from, bytes, offset, kind,
                                    stream, false);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, std::size_t bytes,
                                 std::size_t offset = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  return cpu_device::copy_from_symbol(to, &symbol, sizeof(T), bytes, offset, kind, nullptr, true);
}
template <class T>
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, std::size_t bytes,
                                      std::size_t offset = 0,
                                      cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                                      cudaStream_t stream = nullptr) {
  return cpu_device::copy_from_symbol(to, &symbol, sizeof(T), bytes, offset, kind, stream, false);
}
template <class T>
cudaError_t cudaGetSymbolAddress(void** pointer, const T& symbol) {
  return cpu_device::symbol_address(pointer, &symbol, sizeof(T));
}
// Of `&symbol`, which is no variable: a variable of the device's may well be a pointer.
template <class Address, class... More>
typename std::enable_if<std::is_pointer<Address>::value, cudaError_t>::type cudaMemcpyToSymbol(
    Address&&, const void*, More...) {
  return cpu_device::refuse_symbol_address("cudaMemcpyToSymbol");
}
template <class Address, class... More>
typename std::enable_if<std::is_pointer<Address>::value, cudaError_t>::type cudaMemcpyToSymbolAsync(
    Address&&, const void*, More...) {
  return cpu_device::refuse_symbol_address("cudaMemcpyToSymbolAsync");
}
template <class Address, class... More>
typename std::enable_if<std::is_pointer<Address>::value, cudaError_t>::type cudaMemcpyFromSymbol(
    void*, Address&&, More...) {
  return cpu_device::refuse_symbol_address("cudaMemcpyFromSymbol");
}
template <class Address, class... More>
typename std::enable_if<std::is_pointer<Address>::value, cudaError_t>::type
cudaMemcpyFromSymbolAsync(void*, Address&&, More...) {
  return cpu_device::refuse_symbol_address("cudaMemcpyFromSymbolAsync");
}
template <class Address>
typename std::enable_if<std::is_pointer<Address>::value, cudaError_t>::type cudaGetSymbolAddress(
    void**, Address&&) {
  return cpu_device::refuse_symbol_address("cudaGetSymbolAddress");
}
template <class T>
cudaError_t cudaGetSymbolSize(std::size_t* bytes, const T&) {
  if (bytes == nullptr) return cudaErrorInvalidValue;
  *bytes = sizeof(T);
  return cudaSuccess;
}

namespace cpu_device {
cudaError_t function_attributes(cudaFuncAttributes* attributes, const void* kernel);
cudaError_t set_function_attribute(const void* kernel, cudaFuncAttribute attribute, int value);
cudaError_t set_function_cache(const void* kernel, cudaFuncCache config);
cudaError_t active_blocks(int* blocks, const void* kernel, int block_size,
                          std::size_t dynamic_shared_bytes);
cudaError_t shared_bytes_for(std::size_t* bytes, int blocks, int block_size);
}  // namespace cpu_device

template <class Kernel>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, Kernel* kernel) {
  return cpu_device::function_attributes(attributes, reinterpret_cast<const void*>(kernel));
}
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel* kernel, cudaFuncAttribute attribute, int value) {
  return cpu_device::set_function_attribute(reinterpret_cast<const void*>(kernel), attribute,
                                            value);
}
template <class Kernel>
cudaError_t cudaFuncSetCacheConfig(Kernel* kernel, cudaFuncCache config) {
  return cpu_device::set_function_cache(reinterpret_cast<const void*>(kernel), config);
}

template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel kernel,
                                                          int block_size,
                                                          std::size_t dynamic_shared_bytes) {
  return cpu_device::active_blocks(blocks, reinterpret_cast<const void*>(kernel), block_size,
                                   dynamic_shared_bytes);
}
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, Kernel kernel,
                                                                   int block_size,
                                                                   std::size_t dynamic_shared_bytes,
                                                                   unsigned int flags) {
  if ((flags & ~cudaOccupancyDisableCachingOverride) != 0) return cudaErrorInvalidValue;
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, block_size,
                                                       dynamic_shared_bytes);
}

/// The block size with the most threads at a time; `shared_bytes_of(block size)` returns what a
/// block of that size needs.
template <class SharedBytes, class Kernel>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(int* min_grid_size,
                                                                    int* block_size, Kernel kernel,
                                                                    SharedBytes shared_bytes_of,
                                                                    int block_size_limit = 0,
                                                                    unsigned int flags = 0) {
  if (min_grid_size == nullptr || block_size == nullptr) return cudaErrorInvalidValue;
  int device = 0, processors = 0, most = 0;
  cudaError_t status = cudaGetDevice(&device);
  if (status != cudaSuccess) return status;
  status = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  if (status != cudaSuccess) return status;
  cudaFuncAttributes attributes;
  status = cudaFuncGetAttributes(&attributes, kernel);
  if (status != cudaSuccess) return status;
  int limit = attributes.maxThreadsPerBlock;
  if (block_size_limit > 0 && block_size_limit < limit) limit = block_size_limit;
  // Whole warps, the largest first; a limit that is none is tried as it is.
  for (int size = limit; size > 0; size = (size - 1) / 32 * 32) {
    int blocks = 0;
    status = cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        &blocks, kernel, size, static_cast<std::size_t>(shared_bytes_of(size)), flags);
    if (status != cudaSuccess) return status;
    if (blocks * size <= most) continue;
    most = blocks * size;
    *block_size = size;
    *min_grid_size = blocks * processors;
  }
  return most > 0 ? cudaSuccess : cudaErrorInvalidValue;
}
template <class SharedBytes, class Kernel>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* min_grid_size, int* block_size,
                                                           Kernel kernel,
                                                           SharedBytes shared_bytes_of,
                                                           int block_size_limit = 0) {
  return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(min_grid_size, block_size, kernel,
                                                                 shared_bytes_of, block_size_limit);
}
template <class Kernel>
cudaError_t cudaOccupancyMaxPotentialBlockSizeWithFlags(int* min_grid_size, int* block_size,
                                                        Kernel kernel,
                                                        std::size_t dynamic_shared_bytes = 0,
                                                        int block_size_limit = 0,
                                                        unsigned int flags = 0) {
  return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(
      min_grid_size, block_size, kernel, [=](int) { return dynamic_shared_bytes; },
      block_size_limit, flags);
}
template <class Kernel>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* min_grid_size, int* block_size, Kernel kernel,
                                               std::size_t dynamic_shared_bytes = 0,
                                               int block_size_limit = 0) {
  return cudaOccupancyMaxPotentialBlockSizeWithFlags(min_grid_size, block_size, kernel,
                                                     dynamic_shared_bytes, block_size_limit);
}
/// How much dynamic shared memory each of `blocks` blocks of a multiprocessor can have.
template <class Kernel>
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes, Kernel*, int blocks,
                                                      int block_size) {
  return cpu_device::shared_bytes_for(bytes, blocks, block_size);
}
#else
CPU_DEVICE_NEEDS_KERNELS(cudaMemcpyToSymbol);
CPU_DEVICE_NEEDS_KERNELS(cudaMemcpyToSymbolAsync);
CPU_DEVICE_NEEDS_KERNELS(cudaMemcpyFromSymbol);
CPU_DEVICE_NEEDS_KERNELS(cudaMemcpyFromSymbolAsync);
CPU_DEVICE_NEEDS_KERNELS(cudaGetSymbolAddress);
CPU_DEVICE_NEEDS_KERNELS(cudaGetSymbolSize);
CPU_DEVICE_NEEDS_KERNELS(cudaFuncGetAttributes);
CPU_DEVICE_NEEDS_KERNELS(cudaFuncSetAttribute);
CPU_DEVICE_NEEDS_KERNELS(cudaFuncSetCacheConfig);
CPU_DEVICE_NEEDS_KERNELS(cudaOccupancyMaxActiveBlocksPerMultiprocessor);
CPU_DEVICE_NEEDS_KERNELS(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags);
CPU_DEVICE_NEEDS_KERNELS(cudaOccupancyAvailableDynamicSMemPerBlock);
#endif
