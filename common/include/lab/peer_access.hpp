// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Access to the memory of another device, for the exercises after 19.1, which teaches it.
#pragma once

#include <cuda_runtime.h>

#include <list>

#include "lab/cuda_check.hpp"

namespace lab {

/// While it lives, `device` may access the memory of `other`, if it can; copies between the two
/// are then direct. The destructor disables only what the constructor has enabled. Both may change
/// the current device. Throws cuda_error if access is possible but cannot be enabled.
class peer_access {
 public:
  peer_access(int device, int other) : device_(device), other_(other) {
    int can = 0;
    if (device != other) CUDA_CHECK(cudaDeviceCanAccessPeer(&can, device, other));
    if (can == 0) return;
    CUDA_CHECK(cudaSetDevice(device));
    const cudaError_t status = cudaDeviceEnablePeerAccess(other, 0);
    if (status == cudaErrorPeerAccessAlreadyEnabled) {
      (void)cudaGetLastError();  // not a failure: other code has enabled it
      return;
    }
    CUDA_CHECK(status);
    is_ours_ = true;
  }
  ~peer_access() {
    if (!is_ours_) return;
    CUDA_CHECK_NOTHROW(cudaSetDevice(device_));
    CUDA_CHECK_NOTHROW(cudaDeviceDisablePeerAccess(other_));
  }
  peer_access(const peer_access&) = delete;
  peer_access& operator=(const peer_access&) = delete;

 private:
  int device_, other_;
  bool is_ours_ = false;
};

/// The same for every pair of the first `devices`, in both directions. Copies between devices work
/// without it, too, but then through the host's memory.
class access_to_all_peers {
 public:
  explicit access_to_all_peers(int devices) {
    for (int device = 0; device < devices; ++device)
      for (int other = 0; other < devices; ++other)
        if (other != device) pairs_.emplace_back(device, other);
  }

 private:
  std::list<peer_access> pairs_;  // which do not move
};

}  // namespace lab
