// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "context/errors.hpp"

#include <cstring>
#include <utility>

#include "base/report.hpp"

namespace cpu_device {
namespace {

thread_local constinit cudaError_t tls_last_error = cudaSuccess;

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
    CPU_DEVICE_ERROR(cudaErrorDeviceUninitialized, "invalid device context"),
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
    CPU_DEVICE_ERROR(cudaErrorInvalidClusterSize, "cluster misconfiguration"),
    CPU_DEVICE_ERROR(cudaErrorUnknown, "unknown error"),
};
#undef CPU_DEVICE_ERROR

const error_text* find_error(cudaError_t error) {
  for (const error_text& e : kErrors)
    if (e.error == error) return &e;
  return nullptr;
}

}  // namespace

cudaError_t fail(cudaError_t error, const std::string& sentence) {
  if (error != cudaSuccess) tls_last_error = error;
  if (!sentence.empty()) explain(sentence);
  return error;
}
cudaError_t last_error() { return tls_last_error; }
cudaError_t take_last_error() { return std::exchange(tls_last_error, cudaSuccess); }

int error_named(const char* name) {
  for (const error_text& e : kErrors)
    if (std::strcmp(e.name, name) == 0) return e.error;
  return -1;
}

}  // namespace cpu_device

using namespace cpu_device;

const char* cudaGetErrorName(cudaError_t error) {
  const error_text* e = find_error(error);
  return e != nullptr ? e->name : "unrecognized error code";
}
const char* cudaGetErrorString(cudaError_t error) {
  const error_text* e = find_error(error);
  return e != nullptr ? e->text : "unrecognized error code";
}
