// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu_device/device_settings.h"

#include <cstdio>
#include <cstring>
#include <map>

#include "api/calls.hpp"
#include "base/memory.hpp"
#include "context/device.hpp"
#include "cpu_device/tensor_map.h"

namespace cpu_device {
namespace {

struct settings {
  std::map<cudaLimit, std::size_t> limits = {
      {cudaLimitStackSize, 1024},
      {cudaLimitPrintfFifoSize, std::size_t{1} << 20},
      {cudaLimitMallocHeapSize, std::size_t{8} << 20},
      {cudaLimitDevRuntimePendingLaunchCount, 2048},
      {cudaLimitMaxL2FetchGranularity, 64},
      {cudaLimitPersistingL2CacheSize, 0},
  };
  cudaFuncCache cache = cudaFuncCachePreferNone;
};

std::map<int, settings>& all_settings() {
  static auto* all = new std::map<int, settings>;
  return *all;
}
settings& here() { return all_settings()[current_device()]; }

cudaError_t driver_function(const char* symbol, void** function,
                            cudaDriverEntryPointQueryResult* result) {
  if (symbol == nullptr || function == nullptr) return fail(cudaErrorInvalidValue);
  const bool found = std::strcmp(symbol, "cuTensorMapEncodeTiled") == 0;
  *function = found ? reinterpret_cast<void*>(&cuTensorMapEncodeTiled) : nullptr;
  if (result != nullptr)
    *result = found ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  if (found) return cudaSuccess;
  return fail(cudaErrorNotSupported,
              "of the driver API, the CPU device has cuTensorMapEncodeTiled alone");
}

const bool resets_settings =
    on_reset(reset_step::settings, [](int device) { all_settings().erase(device); });

}  // namespace

}  // namespace cpu_device

using namespace cpu_device;

cudaError_t cudaDeviceSetLimit(cudaLimit limit, std::size_t value) {
  return call(api::cudaDeviceSetLimit, [&] {
    const auto it = here().limits.find(limit);
    if (it == here().limits.end()) return fail(cudaErrorUnsupportedLimit);
    it->second = value;
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit limit) {
  return call(api::cudaDeviceGetLimit, [&] {
    if (value == nullptr) return fail(cudaErrorInvalidValue);
    const auto it = here().limits.find(limit);
    if (it == here().limits.end()) return fail(cudaErrorInvalidValue);
    *value = it->second;
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config) {
  return call(api::cudaDeviceSetCacheConfig, [&] {
    if (static_cast<unsigned>(config) > cudaFuncCachePreferEqual)
      return fail(cudaErrorInvalidValue);
    here().cache = config;
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  return call(api::cudaDeviceGetCacheConfig, [&] {
    if (config == nullptr) return fail(cudaErrorInvalidValue);
    *config = here().cache;
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig config) {
  return call(api::cudaDeviceSetSharedMemConfig, [&] {
    if (static_cast<unsigned>(config) > cudaSharedMemBankSizeEightByte)
      return fail(cudaErrorInvalidValue);
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
  return call(api::cudaDeviceGetSharedMemConfig, [&] {
    if (config == nullptr) return fail(cudaErrorInvalidValue);
    *config = cudaSharedMemBankSizeFourByte;
    return cudaSuccess;
  });
}
cudaError_t cudaCtxResetPersistingL2Cache() {
  return call(api::cudaCtxResetPersistingL2Cache, [&] { return cudaSuccess; });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  return call(api::cudaDeviceGetPCIBusId, [&] {
    if (text == nullptr || length <= 0) return fail(cudaErrorInvalidValue);
    cudaDeviceProp p;
    if (const cudaError_t status = cudaGetDeviceProperties(&p, device); status != cudaSuccess)
      return status;
    char whole[32];
    const int needed = std::snprintf(whole, sizeof whole, "%04x:%02x:%02x.0", p.pciDomainID,
                                     p.pciBusID, p.pciDeviceID);
    if (needed >= length) return fail(cudaErrorInvalidValue);  // with its end, 13 bytes
    std::snprintf(text, static_cast<std::size_t>(length), "%s", whole);
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  return call(api::cudaDeviceGetByPCIBusId, [&] {
    if (device == nullptr || text == nullptr) return fail(cudaErrorInvalidValue);
    unsigned domain = 0, bus = 0, slot = 0, function = 0;
    int end = -1;
    const auto whole = [&](int fields, int wanted) {
      return fields == wanted && end >= 0 && text[end] == '\0';
    };
    if (!whole(std::sscanf(text, "%x:%x:%x.%x%n", &domain, &bus, &slot, &function, &end), 4) &&
        !whole((end = -1, std::sscanf(text, "%x:%x:%x%n", &domain, &bus, &slot, &end)), 3) &&
        !whole(
            (end = -1, domain = 0, std::sscanf(text, "%x:%x.%x%n", &bus, &slot, &function, &end)),
            3))
      return fail(cudaErrorInvalidValue);
    for (int d = 0; d < device_count(); ++d) {
      cudaDeviceProp p;
      cudaGetDeviceProperties(&p, d);
      if (static_cast<unsigned>(p.pciDomainID) != domain ||
          static_cast<unsigned>(p.pciBusID) != bus || static_cast<unsigned>(p.pciDeviceID) != slot)
        continue;
      *device = d;
      return cudaSuccess;
    }
    return fail(cudaErrorInvalidDevice);
  });
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int source,
                                      int destination) {
  return call(api::cudaDeviceGetP2PAttribute, [&] {
    if (value == nullptr || attribute < cudaDevP2PAttrPerformanceRank ||
        attribute > cudaDevP2PAttrCudaArrayAccessSupported)
      return fail(cudaErrorInvalidValue);
    int can = 0;
    if (const cudaError_t status = cudaDeviceCanAccessPeer(&can, source, destination);
        status != cudaSuccess)
      return status;
    if (source == destination) return fail(cudaErrorInvalidDevice);
    *value = attribute == cudaDevP2PAttrPerformanceRank ? 0 : can;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long,
                                    cudaDriverEntryPointQueryResult* result) {
  return call(api::cudaGetDriverEntryPoint,
              [&] { return driver_function(symbol, function, result); });
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned int,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  return call(api::cudaGetDriverEntryPointByVersion,
              [&] { return driver_function(symbol, function, result); });
}
