// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "context/device.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/report.hpp"
#include "cpu_device.h"
#include "cpu_device/host_work.h"
#include "engine/engine.hpp"

namespace cpu_device {
namespace {

constexpr int kMaxDevices = 16;

struct device_state {
  cudaError_t broken = cudaSuccess;
  unsigned flags = cudaDeviceMapHost;
  std::set<int> peers;
};
// Never destroyed: static objects may use the device when the program ends.
std::array<device_state, kMaxDevices>& states() {
  static auto* all = new std::array<device_state, kMaxDevices>;
  return *all;
}

thread_local int tls_device = 0;
thread_local cudaError_t tls_last_error = cudaSuccess;

/// CPU_DEVICE_COUNT says how many there are (two unless told otherwise); CUDA_VISIBLE_DEVICES
/// then chooses among them, as it does among GPUs: device i of the program is the i-th number of
/// the list, which ends at the first entry that names no device, or one named before. A name that
/// begins with GPU- or MIG- names none of these.
std::vector<int> read_visible_devices() {
  int there = 2;
  if (const char* text = std::getenv("CPU_DEVICE_COUNT")) {
    const long wanted = std::strtol(text, nullptr, 10);
    if (wanted >= 0 && wanted <= kMaxDevices) there = static_cast<int>(wanted);
  }
  std::vector<int> chosen;
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) {
    for (int d = 0; d < there; ++d) chosen.push_back(d);
    return chosen;
  }
  for (const char* p = visible;; ++p) {
    char* end = nullptr;
    const long id = std::strtol(p, &end, 10);
    while (*end == ' ') ++end;
    if (end == p || (*end != ',' && *end != '\0') || id < 0 || id >= there ||
        std::find(chosen.begin(), chosen.end(), id) != chosen.end())
      return chosen;
    chosen.push_back(static_cast<int>(id));
    if (*end == '\0') return chosen;
    p = end;
  }
}

const std::vector<int>& visible_devices() {
  static const auto* all = new std::vector<int>(read_visible_devices());
  return *all;
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
    CPU_DEVICE_ERROR(cudaErrorMapBufferObjectFailed, "mapping of buffer object failed"),
    CPU_DEVICE_ERROR(cudaErrorUnmapBufferObjectFailed, "unmapping of buffer object failed"),
    CPU_DEVICE_ERROR(cudaErrorAlreadyMapped, "resource already mapped"),
    CPU_DEVICE_ERROR(cudaErrorNotMapped, "resource not mapped"),
    CPU_DEVICE_ERROR(cudaErrorNotMappedAsArray, "resource not mapped as array"),
    CPU_DEVICE_ERROR(cudaErrorNotMappedAsPointer, "resource not mapped as pointer"),
    CPU_DEVICE_ERROR(cudaErrorInvalidGraphicsContext, "invalid OpenGL or DirectX context"),
    CPU_DEVICE_ERROR(cudaErrorNoKernelImageForDevice,
                     "no kernel image is available for execution on the device"),
    CPU_DEVICE_ERROR(cudaErrorUnsupportedLimit, "limit is not supported on this architecture"),
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
    CPU_DEVICE_ERROR(cudaErrorStreamCaptureUnsupported,
                     "operation not permitted when stream is capturing"),
    CPU_DEVICE_ERROR(cudaErrorStreamCaptureInvalidated,
                     "operation failed due to a previous error during capture"),
    CPU_DEVICE_ERROR(cudaErrorStreamCaptureMerge,
                     "operation would result in a merge of separate capture sequences"),
    CPU_DEVICE_ERROR(cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream"),
    CPU_DEVICE_ERROR(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    CPU_DEVICE_ERROR(cudaErrorStreamCaptureIsolation,
                     "dependency created on uncaptured work in another stream"),
    CPU_DEVICE_ERROR(cudaErrorStreamCaptureImplicit,
                     "operation would make the legacy stream depend on a capturing blocking "
                     "stream"),
    CPU_DEVICE_ERROR(cudaErrorCapturedEvent,
                     "operation not permitted on an event last recorded in a capturing stream"),
    CPU_DEVICE_ERROR(cudaErrorStreamCaptureWrongThread,
                     "attempt to terminate a thread-local capture sequence from another thread"),
    CPU_DEVICE_ERROR(cudaErrorTimeout, "timeout expired"),
    CPU_DEVICE_ERROR(cudaErrorGraphExecUpdateFailure,
                     "the graph update was not performed because it included changes which "
                     "violated constraints specific to instantiated graph update"),
    CPU_DEVICE_ERROR(cudaErrorUnknown, "unknown error"),
};
#undef CPU_DEVICE_ERROR

const error_text* find_error(cudaError_t error) {
  for (const error_text& e : kErrors)
    if (e.error == error) return &e;
  return nullptr;
}

}  // namespace

std::recursive_mutex& api_mutex() {
  static auto* mutex = new std::recursive_mutex;
  return *mutex;
}

int device_count() { return static_cast<int>(visible_devices().size()); }
int device_slot(int device) { return visible_devices()[static_cast<std::size_t>(device)]; }
bool is_device(int device) { return device >= 0 && device < device_count(); }
cudaError_t no_such_device(int device) {
  if (device_count() == 0) return fail(cudaErrorNoDevice);
  return fail(cudaErrorInvalidDevice,
              "there is no device " + std::to_string(device) + ": the numbers are 0 to " +
                  std::to_string(device_count() - 1) + " (CPU_DEVICE_COUNT sets how many)");
}
int current_device() { return tls_device; }

std::size_t& library_handles() {
  static std::size_t count = 0;
  return count;
}
std::size_t live_library_handles() {
  const std::lock_guard lock(api_mutex());
  return library_handles();
}

cudaError_t fail(cudaError_t error, const std::string& sentence) {
  if (error != cudaSuccess) tls_last_error = error;
  if (!sentence.empty()) explain(sentence);
  return error;
}

cudaError_t pending_error() {
  if (device_count() == 0) return cudaErrorNoDevice;
  const std::lock_guard lock(api_mutex());
  return states()[static_cast<std::size_t>(tls_device)].broken;
}

void break_device(int device, cudaError_t error) {
  const std::lock_guard lock(api_mutex());
  cudaError_t& broken = states()[static_cast<std::size_t>(device)].broken;
  if (broken != cudaSuccess) return;
  broken = error;
  unsettled.fetch_add(1, std::memory_order_relaxed);
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

cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* wanted) {
  if (device == nullptr || wanted == nullptr) return fail(cudaErrorInvalidValue);
  if (device_count() == 0) return fail(cudaErrorNoDevice);
  CPU_DEVICE_RETURN_PENDING_ERROR();
  *device = 0;  // all of them are alike
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  if (inside_kernel())
    return fail(cudaErrorNotPermitted, "cudaDeviceSynchronize() was called inside a kernel");
  if (device_count() == 0) return fail(cudaErrorNoDevice);
  if (const cudaError_t status = refuse_in_capture("cudaDeviceSynchronize", true);
      status != cudaSuccess)
    return status;
  finish_device(tls_device);
  CPU_DEVICE_RETURN_PENDING_ERROR();
  return cudaSuccess;
}

cudaError_t cudaDeviceReset() {
  if (device_count() == 0) return fail(cudaErrorNoDevice);
  const std::lock_guard lock(api_mutex());
  finish_device(tls_device);
  forget_streams(tls_device);
  forget_graphics(tls_device);  // whose arrays are textures, too
  forget_textures(tls_device);
  forget_settings(tls_device);
  release_device(tls_device);
  device_state& state = states()[static_cast<std::size_t>(tls_device)];
  if (state.broken != cudaSuccess) unsettled.fetch_sub(1, std::memory_order_relaxed);
  state = {};
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
  states()[static_cast<std::size_t>(tls_device)].flags = flags | cudaDeviceMapHost;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceFlags(unsigned int* flags) {
  if (flags == nullptr) return fail(cudaErrorInvalidValue);
  CPU_DEVICE_RETURN_PENDING_ERROR();
  *flags = states()[static_cast<std::size_t>(tls_device)].flags;
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
  if (!is_device(peer)) return no_such_device(peer);
  if (peer == tls_device)
    return fail(cudaErrorPeerAccessUnsupported, "cudaDeviceEnablePeerAccess: device " +
                                                    std::to_string(peer) +
                                                    " is the current device, not a peer of it");
  const std::lock_guard lock(api_mutex());
  if (!states()[static_cast<std::size_t>(tls_device)].peers.insert(peer).second)
    return fail(cudaErrorPeerAccessAlreadyEnabled);
  return cudaSuccess;
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  if (!is_device(peer)) return no_such_device(peer);
  const std::lock_guard lock(api_mutex());
  if (states()[static_cast<std::size_t>(tls_device)].peers.erase(peer) == 0)
    return fail(cudaErrorPeerAccessNotEnabled);
  return cudaSuccess;
}

namespace cpu_device {
bool peer_enabled(int device, int peer) {
  const std::lock_guard lock(api_mutex());
  return states()[static_cast<std::size_t>(device)].peers.count(peer) != 0;
}
}  // namespace cpu_device
