// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// For programs that use several devices from one host thread: the current device, and who may
// access whose memory, as they were before.
#pragma once

#include <cuda_runtime.h>

#include <utility>
#include <vector>

#include "lab/cuda_check.hpp"

namespace lab {

/// While it lives, the current device may be changed; then it is what it was.
class keep_current_device {
 public:
  keep_current_device() { CUDA_CHECK(cudaGetDevice(&device_)); }
  ~keep_current_device() { CUDA_CHECK_NOTHROW(cudaSetDevice(device_)); }
  keep_current_device(const keep_current_device&) = delete;
  keep_current_device& operator=(const keep_current_device&) = delete;

 private:
  int device_ = 0;
};

/// While it lives, these devices can access each other's memory, where the hardware lets them.
/// Copies between devices work without that, too, but then through the host's memory. What somebody
/// else has allowed before stays allowed. Its constructor and destructor change the current device:
/// a keep_current_device has to be there before it.
class peer_access {
 public:
  /// Every one of the first `devices` can access every other one.
  explicit peer_access(int devices) {
    try {
      for (int device = 0; device < devices; ++device)
        for (int peer = 0; peer < devices; ++peer)
          if (peer != device) allow(device, peer);
    } catch (...) {
      forbid();
      throw;
    }
  }
  ~peer_access() { forbid(); }
  peer_access(const peer_access&) = delete;
  peer_access& operator=(const peer_access&) = delete;

 private:
  void allow(int device, int peer) {
    int possible = 0;
    CUDA_CHECK(cudaDeviceCanAccessPeer(&possible, device, peer));
    if (possible == 0) return;
    CUDA_CHECK(cudaSetDevice(device));
    const cudaError_t status = cudaDeviceEnablePeerAccess(peer, 0);
    if (status == cudaErrorPeerAccessAlreadyEnabled) {
      (void)cudaGetLastError();
      return;
    }
    CUDA_CHECK(status);
    allowed_.emplace_back(device, peer);
  }
  void forbid() noexcept {
    for (const auto& [device, peer] : allowed_) {
      CUDA_CHECK_NOTHROW(cudaSetDevice(device));
      CUDA_CHECK_NOTHROW(cudaDeviceDisablePeerAccess(peer));
    }
    allowed_.clear();
  }

  std::vector<std::pair<int, int>> allowed_;
};

}  // namespace lab
