// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 19.1 peer_copies: copies from the memory of one device to that of another, in four ways.
// Edit:  this file, from TODO(1) to TODO(5). peer_copies.hpp has the contract.
// Run:   scripts/lab run 19.1 -- --step through_host     (then in_pieces, peer_copy, peer_kernel)
// Test:  scripts/lab test 19.1
// Hints: scripts/lab hint 19.1                  Chapter: docs/19_many_gpus.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::peer_copies {
namespace {

void through_host(const task& t) {
  // TODO(1): all words from t.source to t.host in t.out_queue, and from there to t.target in
  //          t.in_queue (cudaMemcpyAsync). make_wait(later, earlier, event) makes one stream wait
  //          for the other. Invariant: t.host is read before the next call overwrites it.
  // BEGIN SOLUTION
  // STUB: throw not_written("step through_host", 1);
  const std::size_t bytes = t.n * sizeof(int);
  CUDA_CHECK(cudaMemcpyAsync(t.host, t.source, bytes, cudaMemcpyDeviceToHost, t.out_queue));
  make_wait(t.in_queue, t.out_queue, t.filled[0]);
  CUDA_CHECK(cudaMemcpyAsync(t.target, t.host, bytes, cudaMemcpyHostToDevice, t.in_queue));
  make_wait(t.out_queue, t.in_queue, t.emptied[0]);
  // END SOLUTION
}

void in_pieces(const task& t) {
  // TODO(2): the same, t.piece words at a time. t.host has two slots for a piece, which take
  //          turns: while one is read, the other one is filled. Which events say that a slot has
  //          been filled, and which that it may be refilled? The last piece may be short.
  // BEGIN SOLUTION
  // STUB: throw not_written("step in_pieces", 2);
  int position = 0;
  for (std::size_t first = 0; first < t.n; first += t.piece, position = 1 - position) {
    const std::size_t bytes = std::min(t.piece, t.n - first) * sizeof(int);
    int* const host = t.host + (position == 0 ? 0 : t.piece);
    CUDA_CHECK(
        cudaStreamWaitEvent(t.out_queue, t.emptied[position], 0));  // no wait if never recorded
    CUDA_CHECK(cudaMemcpyAsync(host, t.source + first, bytes, cudaMemcpyDeviceToHost, t.out_queue));
    make_wait(t.in_queue, t.out_queue, t.filled[position]);
    CUDA_CHECK(cudaMemcpyAsync(t.target + first, host, bytes, cudaMemcpyHostToDevice, t.in_queue));
    CUDA_CHECK(cudaEventRecord(t.emptied[position], t.in_queue));
  }
  // END SOLUTION
}

/// While it lives, `device` may access the memory of `other`, if it is able to.
class peer_access {
 public:
  peer_access(int device, int other) : device_(device), other_(other) {
    // TODO(3): enable the access if possible (cudaDeviceEnablePeerAccess: for the current device).
    //          cudaErrorPeerAccessAlreadyEnabled is not a failure: cudaGetLastError() clears it.
    // BEGIN SOLUTION
    // STUB: throw not_written("peer_access", 3);
    if (device == other || !can_access(device, other)) return;
    CUDA_CHECK(cudaSetDevice(device));
    const cudaError_t status = cudaDeviceEnablePeerAccess(other, 0);
    if (status == cudaErrorPeerAccessAlreadyEnabled) {
      cudaGetLastError();
      return;
    }
    CUDA_CHECK(status);
    is_ours_ = true;
    // END SOLUTION
  }
  ~peer_access() {
    // TODO(3): disable only what was enabled here: cudaDeviceDisablePeerAccess, CUDA_CHECK_NOTHROW.
    // BEGIN SOLUTION
    if (!is_ours_) return;
    CUDA_CHECK_NOTHROW(cudaSetDevice(device_));
    CUDA_CHECK_NOTHROW(cudaDeviceDisablePeerAccess(other_));
    // END SOLUTION
  }
  peer_access(const peer_access&) = delete;
  peer_access& operator=(const peer_access&) = delete;

 private:
  int device_, other_;
  bool is_ours_ = false;
};

void peer_copy(const task& t) {
  // TODO(4): a single cudaMemcpyPeerAsync, in t.out_queue.
  // BEGIN SOLUTION
  // STUB: throw not_written("step peer_copy", 4);
  CUDA_CHECK(cudaMemcpyPeerAsync(t.target, t.to, t.source, t.from, t.n * sizeof(int), t.out_queue));
  // END SOLUTION
}

__global__ void read_from(const int* source, int* target, std::size_t n) {
  // TODO(5): target[i] = source[i] for all n words. The grid may have fewer threads than that.
  // BEGIN SOLUTION
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
    target[i] = source[i];
  // END SOLUTION
}

void peer_kernel(const task& t) {
  // TODO(5): and its launch, into t.in_queue. On which device does a kernel run?
  // BEGIN SOLUTION
  // STUB: throw not_written("step peer_kernel", 5);
  CUDA_CHECK(cudaSetDevice(t.to));  // a kernel runs on the current device, in one of its streams
  read_from<<<blocks_for(t.n), kThreads, 0, t.in_queue>>>(t.source, t.target, t.n);
  CUDA_CHECK(cudaGetLastError());
  // END SOLUTION
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
