// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Devices: how many, which one, waiting for one, resetting one, peers; and the last error.

#include "api/calls.hpp"
#include "api/memory_api.hpp"
#include "api/stream_queue.hpp"
#include "context/device.hpp"

using namespace cpu_device;

cudaError_t cudaGetLastError() {
  return call(api::cudaGetLastError, [] {
    const cudaError_t pending = device_count() == 0 ? cudaSuccess : pending_error();
    const cudaError_t last = take_last_error();
    return pending != cudaSuccess ? pending : last;
  });
}
cudaError_t cudaPeekAtLastError() {
  return call(api::cudaPeekAtLastError, [] {
    const cudaError_t pending = device_count() == 0 ? cudaSuccess : pending_error();
    return pending != cudaSuccess ? pending : last_error();
  });
}

cudaError_t cudaGetDeviceCount(int* count) {
  return call(api::cudaGetDeviceCount, [&] {
    if (count == nullptr) return fail(cudaErrorInvalidValue);
    *count = device_count();
    return *count == 0 ? fail(cudaErrorNoDevice) : cudaSuccess;
  });
}
cudaError_t cudaGetDevice(int* device) {
  return call(api::cudaGetDevice, [&] {
    if (device == nullptr) return fail(cudaErrorInvalidValue);
    if (device_count() == 0) return fail(cudaErrorNoDevice);
    *device = current_device();
    return cudaSuccess;
  });
}
cudaError_t cudaSetDevice(int device) {
  return call(api::cudaSetDevice, [&] {
    if (!is_device(device)) return no_such_device(device);
    set_current_device(device);
    return cudaSuccess;
  });
}
cudaError_t cudaInitDevice(int device, unsigned int, unsigned int) {
  return call(api::cudaInitDevice,
              [&] { return is_device(device) ? cudaSuccess : no_such_device(device); });
}
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* wanted) {
  return call(api::cudaChooseDevice, [&] {
    if (device == nullptr || wanted == nullptr) return fail(cudaErrorInvalidValue);
    *device = 0;  // all of them are alike
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSynchronize() {
  return call(api::cudaDeviceSynchronize, [] {
    if (device_count() == 0) return fail(cudaErrorNoDevice);
    finish_device(current_device());
    release_unused_of_pools();
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceReset() {
  return call(api::cudaDeviceReset, [] {
    if (device_count() == 0) return fail(cudaErrorNoDevice);
    finish_device(current_device());
    reset_device(current_device());
    return cudaSuccess;
  });
}

cudaError_t cudaDriverGetVersion(int* version) {
  return call(api::cudaDriverGetVersion, [&] {
    if (version == nullptr) return fail(cudaErrorInvalidValue);
    *version = CUDART_VERSION;
    return cudaSuccess;
  });
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  return call(api::cudaRuntimeGetVersion, [&] { return cudaDriverGetVersion(version); });
}

cudaError_t cudaSetDeviceFlags(unsigned int flags) {
  return call(api::cudaSetDeviceFlags, [&] {
    if ((flags & ~0x1FU) != 0) return fail(cudaErrorInvalidValue);
    device_flags() = flags | cudaDeviceMapHost;
    return cudaSuccess;
  });
}
cudaError_t cudaGetDeviceFlags(unsigned int* flags) {
  return call(api::cudaGetDeviceFlags, [&] {
    if (flags == nullptr) return fail(cudaErrorInvalidValue);
    *flags = device_flags();
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return call(api::cudaDeviceCanAccessPeer, [&] {
    if (can == nullptr) return fail(cudaErrorInvalidValue);
    if (!is_device(device)) return no_such_device(device);
    if (!is_device(peer)) return no_such_device(peer);
    *can = can_reach(device, peer);
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags) {
  return call(api::cudaDeviceEnablePeerAccess, [&] {
    if (flags != 0) return fail(cudaErrorInvalidValue);
    if (!is_device(peer)) return no_such_device(peer);
    if (peer == current_device())
      return fail(cudaErrorPeerAccessUnsupported, "cudaDeviceEnablePeerAccess: device " +
                                                      std::to_string(peer) +
                                                      " is the current device, not a peer of it");
    if (!can_reach(current_device(), peer))
      return fail(cudaErrorPeerAccessUnsupported,
                  "cudaDeviceEnablePeerAccess: device " + std::to_string(current_device()) +
                      " cannot access memory of device " + std::to_string(peer) +
                      ".\n  Try: cudaDeviceCanAccessPeer, and copies where it says no.");
    return enable_peer(peer) ? cudaSuccess : fail(cudaErrorPeerAccessAlreadyEnabled);
  });
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return call(api::cudaDeviceDisablePeerAccess, [&] {
    if (!is_device(peer)) return no_such_device(peer);
    return disable_peer(peer) ? cudaSuccess : fail(cudaErrorPeerAccessNotEnabled);
  });
}
