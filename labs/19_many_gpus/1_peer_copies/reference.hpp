// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 19.1 peer_copies: what the results are compared with.
#pragma once

#include <cuda_runtime.h>

#include "lab/cuda_check.hpp"
#include "peer_copies.hpp"

namespace lab::peer_copies {

/// The route that send() has to take. (The words that arrive are those that were sent.)
inline route expected_route(step version, int from, int to) {
  if (version == step::through_host || version == step::in_pieces) return route::through_host;
  if (from == to) return route::within_device;
  int there = 0, back = 0;
  CUDA_CHECK(cudaDeviceCanAccessPeer(&there, from, to));
  CUDA_CHECK(cudaDeviceCanAccessPeer(&back, to, from));
  return there != 0 && back != 0 ? route::direct : route::through_host;
}

}  // namespace lab::peer_copies
