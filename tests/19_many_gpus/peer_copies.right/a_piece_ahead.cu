// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The next piece is sent before this one is received; events are recorded and awaited one by one.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::peer_copies {
namespace {

// --- by way of the host --------------------------------------------------------------------------

void through_host(const task& t) {
  CUDA_CHECK(cudaStreamWaitEvent(t.out_queue, t.emptied[0], 0));
  CUDA_CHECK(cudaMemcpyAsync(t.host, t.source, t.n * sizeof(int), cudaMemcpyDefault, t.out_queue));
  CUDA_CHECK(cudaEventRecord(t.filled[0], t.out_queue));
  CUDA_CHECK(cudaStreamWaitEvent(t.in_queue, t.filled[0], 0));
  CUDA_CHECK(cudaMemcpyAsync(t.target, t.host, t.n * sizeof(int), cudaMemcpyDefault, t.in_queue));
  CUDA_CHECK(cudaEventRecord(t.emptied[0], t.in_queue));
}

void in_pieces(const task& t) {
  const std::size_t room = std::min(t.piece, t.n);
  const std::size_t pieces = (t.n + room - 1) / room;
  const auto bytes_of = [&](std::size_t k) { return std::min(room, t.n - k * room) * sizeof(int); };
  const auto send = [&](std::size_t k) {
    CUDA_CHECK(cudaStreamWaitEvent(t.out_queue, t.emptied[k % 2], 0));
    CUDA_CHECK(cudaMemcpyAsync(t.host + k % 2 * room, t.source + k * room, bytes_of(k),
                               cudaMemcpyDefault, t.out_queue));
    CUDA_CHECK(cudaEventRecord(t.filled[k % 2], t.out_queue));
  };
  const auto receive = [&](std::size_t k) {
    CUDA_CHECK(cudaStreamWaitEvent(t.in_queue, t.filled[k % 2], 0));
    CUDA_CHECK(cudaMemcpyAsync(t.target + k * room, t.host + k % 2 * room, bytes_of(k),
                               cudaMemcpyDefault, t.in_queue));
    CUDA_CHECK(cudaEventRecord(t.emptied[k % 2], t.in_queue));
  };
  // One piece ahead: piece k + 1 is sent before piece k is received.
  send(0);
  for (std::size_t k = 0; k < pieces; ++k) {
    if (k + 1 < pieces) send(k + 1);
    receive(k);
  }
}

// --- from device to device -----------------------------------------------------------------------

/// While it lives, `device` may access the memory of `other`, if it is able to.
class peer_access {
 public:
  peer_access(int device, int other) : device_(device), other_(other) {
    if (device == other || !can_access(device, other)) return;
    CUDA_CHECK(cudaSetDevice(device));
    const cudaError_t status = cudaDeviceEnablePeerAccess(other, 0);
    is_ours_ = status == cudaSuccess;
    if (status == cudaErrorPeerAccessAlreadyEnabled)
      (void)cudaGetLastError();
    else
      CUDA_CHECK(status);
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

void peer_copy(const task& t) {
  CUDA_CHECK(cudaMemcpyPeerAsync(t.target, t.to, t.source, t.from, t.n * sizeof(int), t.out_queue));
}

__global__ void read_from(const int* source, int* target, std::size_t n) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
    target[i] = source[i];
}

void peer_kernel(const task& t) {
  CUDA_CHECK(cudaSetDevice(t.to));
  read_from<<<blocks_for(t.n), kThreads, 0, t.in_queue>>>(t.source, t.target, t.n);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace

transfer send(step version, int from, int to, std::span<const int> words, int copies,
              std::size_t piece) {
  check(from, to, copies, piece);
  const keep_current_device keep;
  const route path = route_of(version, from, to);
  const auto run = [&](auto copy) {
    return host_part_of_send(version, path, from, to, words, copies, piece, copy);
  };
  if (version == step::through_host) return run(through_host);
  if (path == route::through_host) return run(version == step::peer_copy ? peer_copy : in_pieces);
  const peer_access there(from, to), back(to, from);
  return run(version == step::peer_copy ? peer_copy : peer_kernel);
}

}  // namespace lab::peer_copies
