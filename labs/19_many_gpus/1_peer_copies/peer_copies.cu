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
  throw not_written("step through_host", 1);
}

void in_pieces(const task& t) {
  // TODO(2): the same, t.piece words at a time. t.host has two slots for a piece, which take
  //          turns: while one is read, the other one is filled. Which events say that a slot has
  //          been filled, and which that it may be refilled? The last piece may be short.
  throw not_written("step in_pieces", 2);
}

/// While it lives, `device` may access the memory of `other`, if it is able to.
class peer_access {
 public:
  peer_access(int device, int other) : device_(device), other_(other) {
    // TODO(3): enable the access if possible (cudaDeviceEnablePeerAccess: for the current device).
    //          cudaErrorPeerAccessAlreadyEnabled is not a failure: cudaGetLastError() clears it.
    throw not_written("peer_access", 3);
  }
  ~peer_access() {
    // TODO(3): disable only what was enabled here: cudaDeviceDisablePeerAccess, CUDA_CHECK_NOTHROW.
  }
  peer_access(const peer_access&) = delete;
  peer_access& operator=(const peer_access&) = delete;

 private:
  int device_, other_;
  bool is_ours_ = false;
};

void peer_copy(const task& t) {
  // TODO(4): a single cudaMemcpyPeerAsync, in t.out_queue.
  throw not_written("step peer_copy", 4);
}

__global__ void read_from(const int* source, int* target, std::size_t n) {
  // TODO(5): target[i] = source[i] for all n words. The grid may have fewer threads than that.
}

void peer_kernel(const task& t) {
  // TODO(5): and its launch, into t.in_queue. On which device does a kernel run?
  throw not_written("step peer_kernel", 5);
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
