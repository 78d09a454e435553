// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "device.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "cpu_device.h"
#include "engine.hpp"
#include "memory.hpp"
#include "report.hpp"

namespace cpu_device {
namespace {

constexpr int kMaxDevices = 16;

struct device_state {
  cudaError_t broken = cudaSuccess;
  unsigned flags = cudaDeviceMapHost;
  std::set<int> peers;
};
std::array<device_state, kMaxDevices> states;

thread_local int tls_device = 0;
thread_local cudaError_t tls_last_error = cudaSuccess;

/// CPU_DEVICE_COUNT says how many there are (two unless told otherwise); CUDA_VISIBLE_DEVICES
/// then chooses among them, as it does among GPUs: the list ends at the first number not there.
int count_devices() {
  int there = 2;
  if (const char* text = std::getenv("CPU_DEVICE_COUNT")) {
    const long wanted = std::strtol(text, nullptr, 10);
    if (wanted >= 0 && wanted <= kMaxDevices) there = static_cast<int>(wanted);
  }
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) return there;
  int count = 0;
  for (const char* p = visible; *p != '\0';) {
    char* end = nullptr;
    const long id = std::strtol(p, &end, 10);
    if (end == p || id < 0 || id >= there) break;
    ++count;
    p = *end == ',' ? end + 1 : end;
    if (*end != ',' && *end != '\0') break;
  }
  return std::min(count, there);
}

struct error_text {
  cudaError_t error;
  const char* name;
  const char* text;
};
#define CPU_DEVICE_ERROR(name, text) \
  { name, #name, text }
constexpr error_text kErrors[] = {
    CPU_DEVICE_ERROR(cudaSuccess, "no error"),
    CPU_DEVICE_ERROR(cudaErrorInvalidValue, "invalid argument"),
    CPU_DEVICE_ERROR(cudaErrorMemoryAllocation, "out of memory"),
    CPU_DEVICE_ERROR(cudaErrorInitializationError, "initialization error"),
    CPU_DEVICE_ERROR(cudaErrorCudartUnloading, "driver shutting down"),
    CPU_DEVICE_ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    CPU_DEVICE_ERROR(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    CPU_DEVICE_ERROR(cudaErrorInvalidSymbol, "invalid device symbol"),
    CPU_DEVICE_ERROR(cudaErrorInvalidHostPointer, "invalid host pointer"),
    CPU_DEVICE_ERROR(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    CPU_DEVICE_ERROR(cudaErrorInvalidTexture, "invalid texture reference"),
    CPU_DEVICE_ERROR(cudaErrorInvalidTextureBinding, "texture is not bound to a pointer"),
    CPU_DEVICE_ERROR(cudaErrorInvalidFilterSetting,
                     "linear filtering not supported for non-float type"),
    CPU_DEVICE_ERROR(cudaErrorInvalidNormSetting,
                     "read as normalized float not supported for data type"),
    CPU_DEVICE_ERROR(cudaErrorInvalidSurface, "invalid surface reference"),
    CPU_DEVICE_ERROR(cudaErrorInvalidChannelDescriptor, "invalid channel descriptor"),
    CPU_DEVICE_ERROR(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    CPU_DEVICE_ERROR(cudaErrorInsufficientDriver,
                     "CUDA driver version is insufficient for CUDA runtime version"),
    CPU_DEVICE_ERROR(cudaErrorMissingConfiguration, "missing launch configuration"),
    CPU_DEVICE_ERROR(cudaErrorPriorLaunchFailure, "unspecified launch failure in prior launch"),
    CPU_DEVICE_ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    CPU_DEVICE_ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    CPU_DEVICE_ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    CPU_DEVICE_ERROR(cudaErrorNoKernelImageForDevice,
                     "no kernel image is available for execution on the device"),
    CPU_DEVICE_ERROR(cudaErrorPeerAccessUnsupported,
                     "peer access is not supported between these two devices"),
    CPU_DEVICE_ERROR(cudaErrorOperatingSystem,
                     "OS call failed or operation not supported on this OS"),
    CPU_DEVICE_ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    CPU_DEVICE_ERROR(cudaErrorIllegalState,
                     "the operation cannot be performed in the present state"),
    CPU_DEVICE_ERROR(cudaErrorNotReady, "device not ready"),
    CPU_DEVICE_ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    CPU_DEVICE_ERROR(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    CPU_DEVICE_ERROR(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    CPU_DEVICE_ERROR(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    CPU_DEVICE_ERROR(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    CPU_DEVICE_ERROR(cudaErrorAssert, "device-side assert triggered"),
    CPU_DEVICE_ERROR(cudaErrorHostMemoryAlreadyRegistered,
                     "part or all of the requested memory range is already mapped"),
    CPU_DEVICE_ERROR(cudaErrorHostMemoryNotRegistered,
                     "pointer does not correspond to a registered memory region"),
    CPU_DEVICE_ERROR(cudaErrorHardwareStackError, "hardware stack error"),
    CPU_DEVICE_ERROR(cudaErrorMisalignedAddress, "misaligned address"),
    CPU_DEVICE_ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    CPU_DEVICE_ERROR(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    CPU_DEVICE_ERROR(cudaErrorNotPermitted, "operation not permitted"),
    CPU_DEVICE_ERROR(cudaErrorNotSupported, "operation not supported"),
    CPU_DEVICE_ERROR(cudaErrorUnknown, "unknown error"),
};
#undef CPU_DEVICE_ERROR

const error_text* find_error(cudaError_t error) {
  for (const error_text& e : kErrors)
    if (e.error == error) return &e;
  return nullptr;
}

bool is_device(int device) { return device >= 0 && device < device_count(); }

cudaError_t no_such_device(int device) {
  if (device_count() == 0) return fail(cudaErrorNoDevice);
  return fail(cudaErrorInvalidDevice,
              "there is no device " + std::to_string(device) + ": the numbers are 0 to " +
                  std::to_string(device_count() - 1) + " (CPU_DEVICE_COUNT sets how many)");
}

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

}  // namespace

std::recursive_mutex& api_mutex() {
  static auto* mutex = new std::recursive_mutex;
  return *mutex;
}

int device_count() {
  static const int count = count_devices();
  return count;
}
int current_device() { return tls_device; }

cudaError_t fail(cudaError_t error, const std::string& sentence) {
  if (error != cudaSuccess) tls_last_error = error;
  if (!sentence.empty()) explain(sentence);
  return error;
}

cudaError_t pending_error() {
  if (device_count() == 0) return cudaErrorNoDevice;
  const std::lock_guard lock(api_mutex());
  return states[static_cast<std::size_t>(tls_device)].broken;
}

void break_device(int device, cudaError_t error) {
  const std::lock_guard lock(api_mutex());
  cudaError_t& broken = states[static_cast<std::size_t>(device)].broken;
  if (broken == cudaSuccess) broken = error;
}

cudaError_t function_attributes(cudaFuncAttributes* attributes, const void* kernel) {
  if (attributes == nullptr || kernel == nullptr) return fail(cudaErrorInvalidDeviceFunction);
  *attributes = {};
  attributes->maxThreadsPerBlock = static_cast<int>(kMaxThreads);
  attributes->numRegs = 32;
  attributes->ptxVersion = attributes->binaryVersion = 90;
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(kSharedLimit);
  return cudaSuccess;
}

cudaError_t active_blocks(int* blocks, int block_size, std::size_t dynamic_shared_bytes) {
  if (blocks == nullptr || block_size < 1) return fail(cudaErrorInvalidValue);
  if (block_size > static_cast<int>(kMaxThreads) || dynamic_shared_bytes > kSharedOptinLimit) {
    *blocks = 0;
    return cudaSuccess;
  }
  int fitting = 2048 / block_size;
  if (dynamic_shared_bytes > 0)
    fitting = std::min(fitting, static_cast<int>(228 * 1024 / (dynamic_shared_bytes + 1024)));
  *blocks = std::clamp(fitting, 1, 32);
  return cudaSuccess;
}

}  // namespace cpu_device

using namespace cpu_device;

cudaError_t cudaGetLastError() {
  const cudaError_t pending = device_count() == 0 ? cudaSuccess : pending_error();
  const cudaError_t last = std::exchange(tls_last_error, cudaSuccess);
  return pending != cudaSuccess ? pending : last;
}
cudaError_t cudaPeekAtLastError() {
  const cudaError_t pending = device_count() == 0 ? cudaSuccess : pending_error();
  return pending != cudaSuccess ? pending : tls_last_error;
}
const char* cudaGetErrorName(cudaError_t error) {
  const error_text* e = find_error(error);
  return e != nullptr ? e->name : "unrecognized error code";
}
const char* cudaGetErrorString(cudaError_t error) {
  const error_text* e = find_error(error);
  return e != nullptr ? e->text : "unrecognized error code";
}

cudaError_t cudaGetDeviceCount(int* count) {
  if (count == nullptr) return fail(cudaErrorInvalidValue);
  *count = device_count();
  return *count == 0 ? fail(cudaErrorNoDevice) : cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  if (device == nullptr) return fail(cudaErrorInvalidValue);
  if (device_count() == 0) return fail(cudaErrorNoDevice);
  *device = tls_device;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (!is_device(device)) return no_such_device(device);
  tls_device = device;
  return cudaSuccess;
}
cudaError_t cudaInitDevice(int device, unsigned int, unsigned int) {
  return is_device(device) ? cudaSuccess : no_such_device(device);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  if (p == nullptr) return fail(cudaErrorInvalidValue);
  if (!is_device(device)) return no_such_device(device);
  *p = {};
  std::snprintf(p->name, sizeof p->name, "CPU device, %u worker%s", worker_count(),
                worker_count() == 1 ? "" : "s");
  p->uuid.bytes[0] = static_cast<char>(device + 1);
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
  p->pciBusID = device;
  p->asyncEngineCount = 2;
  p->unifiedAddressing = 1;
  p->memoryBusWidth = 64;
  p->l2CacheSize = static_cast<int>(std::max(0L, sysconf(_SC_LEVEL2_CACHE_SIZE)));
  p->maxThreadsPerMultiProcessor = 2048;
  p->streamPrioritiesSupported = 1;
  p->globalL1CacheSupported = p->localL1CacheSupported = 1;
  p->sharedMemPerMultiprocessor = 228 * 1024;
  p->managedMemory = 1;
  p->concurrentManagedAccess = 1;
  p->canUseHostPointerForRegisteredMem = 1;
  p->cooperativeLaunch = 0;
  p->sharedMemPerBlockOptin = kSharedOptinLimit;
  p->maxBlocksPerMultiProcessor = 32;
  p->reservedSharedMemPerBlock = 1024;
  p->hostRegisterSupported = 1;
  p->memoryPoolsSupported = 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (value == nullptr) return fail(cudaErrorInvalidValue);
  cudaDeviceProp p;
  const cudaError_t status = cudaGetDeviceProperties(&p, device);
  if (status != cudaSuccess) return status;
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      *value = p.maxThreadsPerBlock;
      break;
    case cudaDevAttrMaxBlockDimX:
      *value = p.maxThreadsDim[0];
      break;
    case cudaDevAttrMaxBlockDimY:
      *value = p.maxThreadsDim[1];
      break;
    case cudaDevAttrMaxBlockDimZ:
      *value = p.maxThreadsDim[2];
      break;
    case cudaDevAttrMaxGridDimX:
      *value = p.maxGridSize[0];
      break;
    case cudaDevAttrMaxGridDimY:
      *value = p.maxGridSize[1];
      break;
    case cudaDevAttrMaxGridDimZ:
      *value = p.maxGridSize[2];
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = static_cast<int>(p.sharedMemPerBlock);
      break;
    case cudaDevAttrTotalConstantMemory:
      *value = static_cast<int>(p.totalConstMem);
      break;
    case cudaDevAttrWarpSize:
      *value = p.warpSize;
      break;
    case cudaDevAttrMaxPitch:
      *value = static_cast<int>(p.memPitch);
      break;
    case cudaDevAttrMaxRegistersPerBlock:
      *value = p.regsPerBlock;
      break;
    case cudaDevAttrClockRate: {
      static const int khz = host_clock_khz();  // one answer, though the host's clock moves
      *value = khz;
      break;
    }
    case cudaDevAttrTextureAlignment:
      *value = static_cast<int>(p.textureAlignment);
      break;
    case cudaDevAttrTexturePitchAlignment:
      *value = static_cast<int>(p.texturePitchAlignment);
      break;
    case cudaDevAttrGpuOverlap:
      *value = 1;
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = p.multiProcessorCount;
      break;
    case cudaDevAttrKernelExecTimeout:
      *value = 1;
      break;  // the watchdog
    case cudaDevAttrIntegrated:
      *value = p.integrated;
      break;
    case cudaDevAttrCanMapHostMemory:
      *value = p.canMapHostMemory;
      break;
    case cudaDevAttrComputeMode:
      *value = cudaComputeModeDefault;
      break;
    case cudaDevAttrConcurrentKernels:
      *value = p.concurrentKernels;
      break;
    case cudaDevAttrEccEnabled:
      *value = p.ECCEnabled;
      break;
    case cudaDevAttrMemoryClockRate:
      *value = 1600000;
      break;  // nominal: hosts do not tell
    case cudaDevAttrGlobalMemoryBusWidth:
      *value = p.memoryBusWidth;
      break;
    case cudaDevAttrL2CacheSize:
      *value = p.l2CacheSize;
      break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = p.maxThreadsPerMultiProcessor;
      break;
    case cudaDevAttrAsyncEngineCount:
      *value = p.asyncEngineCount;
      break;
    case cudaDevAttrUnifiedAddressing:
      *value = p.unifiedAddressing;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = p.major;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = p.minor;
      break;
    case cudaDevAttrStreamPrioritiesSupported:
      *value = p.streamPrioritiesSupported;
      break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = static_cast<int>(p.sharedMemPerMultiprocessor);
      break;
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      *value = p.regsPerMultiprocessor;
      break;
    case cudaDevAttrManagedMemory:
      *value = p.managedMemory;
      break;
    case cudaDevAttrPageableMemoryAccess:
      *value = p.pageableMemoryAccess;
      break;
    case cudaDevAttrConcurrentManagedAccess:
      *value = p.concurrentManagedAccess;
      break;
    case cudaDevAttrCooperativeLaunch:
      *value = p.cooperativeLaunch;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(p.sharedMemPerBlockOptin);
      break;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      *value = p.maxBlocksPerMultiProcessor;
      break;
    case cudaDevAttrMemoryPoolsSupported:
      *value = p.memoryPoolsSupported;
      break;
    default:
      return fail(cudaErrorInvalidValue, "cudaDeviceGetAttribute: attribute " +
                                             std::to_string(static_cast<int>(attribute)) +
                                             " is not known to the CPU device");
  }
  return cudaSuccess;
}

cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* wanted) {
  if (device == nullptr || wanted == nullptr) return fail(cudaErrorInvalidValue);
  if (device_count() == 0) return fail(cudaErrorNoDevice);
  *device = 0;  // all of them are alike
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  if (inside_kernel())
    return fail(cudaErrorNotPermitted, "cudaDeviceSynchronize() was called inside a kernel");
  if (device_count() == 0) return fail(cudaErrorNoDevice);
  finish_device(tls_device);
  CPU_DEVICE_RETURN_PENDING_ERROR();
  return cudaSuccess;
}

cudaError_t cudaDeviceReset() {
  if (device_count() == 0) return fail(cudaErrorNoDevice);
  const std::lock_guard lock(api_mutex());
  finish_device(tls_device);
  forget_streams(tls_device);
  forget_textures(tls_device);
  release_device(tls_device);
  states[static_cast<std::size_t>(tls_device)] = {};
  tls_last_error = cudaSuccess;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  if (version == nullptr) return fail(cudaErrorInvalidValue);
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }

cudaError_t cudaSetDeviceFlags(unsigned int flags) {
  if ((flags & ~0x1FU) != 0) return fail(cudaErrorInvalidValue);
  CPU_DEVICE_RETURN_PENDING_ERROR();
  states[static_cast<std::size_t>(tls_device)].flags = flags | cudaDeviceMapHost;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceFlags(unsigned int* flags) {
  if (flags == nullptr) return fail(cudaErrorInvalidValue);
  CPU_DEVICE_RETURN_PENDING_ERROR();
  *flags = states[static_cast<std::size_t>(tls_device)].flags;
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (can == nullptr) return fail(cudaErrorInvalidValue);
  if (!is_device(device)) return no_such_device(device);
  if (!is_device(peer)) return no_such_device(peer);
  *can = device != peer;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags) {
  if (flags != 0) return fail(cudaErrorInvalidValue);
  if (!is_device(peer) || peer == tls_device) return no_such_device(peer);
  const std::lock_guard lock(api_mutex());
  if (!states[static_cast<std::size_t>(tls_device)].peers.insert(peer).second)
    return fail(cudaErrorPeerAccessAlreadyEnabled);
  return cudaSuccess;
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  if (!is_device(peer)) return no_such_device(peer);
  const std::lock_guard lock(api_mutex());
  if (states[static_cast<std::size_t>(tls_device)].peers.erase(peer) == 0)
    return fail(cudaErrorPeerAccessNotEnabled);
  return cudaSuccess;
}

namespace cpu_device {
bool peer_enabled(int device, int peer) {
  const std::lock_guard lock(api_mutex());
  return states[static_cast<std::size_t>(device)].peers.count(peer) != 0;
}
}  // namespace cpu_device
