// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// peer_copy in the stream of the target; four loads in flight in each thread, and a larger grid.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::peer_copies {
namespace {

// --- by way of the host --------------------------------------------------------------------------

void through_host(const task& t) {
  const std::size_t bytes = t.n * sizeof(int);
  CUDA_CHECK(cudaSetDevice(t.from));
  CUDA_CHECK(cudaMemcpyAsync(t.host, t.source, bytes, cudaMemcpyDeviceToHost, t.out_queue));
  make_wait(t.in_queue, t.out_queue, t.filled[0]);
  CUDA_CHECK(cudaSetDevice(t.to));
  CUDA_CHECK(cudaMemcpyAsync(t.target, t.host, bytes, cudaMemcpyHostToDevice, t.in_queue));
  make_wait(t.out_queue, t.in_queue, t.emptied[0]);
}

void in_pieces(const task& t) {
  std::size_t position = 0;
  const std::size_t room = std::min(t.piece, t.n);
  for (std::size_t begin = 0; begin < t.n; begin += room) {
    const std::size_t bytes = std::min(room, t.n - begin) * sizeof(int);
    int* const host = t.host + position * room;
    CUDA_CHECK(cudaStreamWaitEvent(t.out_queue, t.emptied[position], 0));
    CUDA_CHECK(cudaMemcpyAsync(host, t.source + begin, bytes, cudaMemcpyDeviceToHost, t.out_queue));
    make_wait(t.in_queue, t.out_queue, t.filled[position]);
    CUDA_CHECK(cudaMemcpyAsync(t.target + begin, host, bytes, cudaMemcpyHostToDevice, t.in_queue));
    CUDA_CHECK(cudaEventRecord(t.emptied[position], t.in_queue));
    position = 1 - position;
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
  CUDA_CHECK(cudaMemcpyPeerAsync(t.target, t.to, t.source, t.from, t.n * sizeof(int), t.in_queue));
}

__global__ void read_from(const int* source, int* target, std::size_t n) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  const std::size_t first = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  std::size_t i = first;
  for (; n > 3 * stride && i < n - 3 * stride; i += 4 * stride) {
    const int a = source[i], b = source[i + stride], c = source[i + 2 * stride],
              d = source[i + 3 * stride];
    target[i] = a, target[i + stride] = b, target[i + 2 * stride] = c, target[i + 3 * stride] = d;
  }
  for (; i < n; i += stride) target[i] = source[i];
}

void peer_kernel(const task& t) {
  CUDA_CHECK(cudaSetDevice(t.to));
  read_from<<<static_cast<unsigned>((t.n + 1023) / 1024), 512, 0, t.in_queue>>>(t.source, t.target,
                                                                                t.n);
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
