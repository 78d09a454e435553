// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 19.1 peer_copies: what peer_copies.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/event.hpp"
#include "lab/keep_current_device.hpp"
#include "lab/launch_limits.hpp"
#include "lab/pinned_buffer.hpp"
#include "lab/refuse_if.hpp"
#include "lab/stream.hpp"
#include "lab/timer.hpp"
#include "peer_copies.hpp"

namespace lab::peer_copies {

/// What there is to copy: from source[0], …, source[n - 1], in the memory of device `from`, to
/// target[0], …, in that of device `to`; and with what.
struct task {
  int from, to;
  std::size_t n, piece;
  const int* source;
  int* target;
  int* host;                         ///< pinned: room for n words; for two pieces in in_pieces
  const event* filled;               ///< two events of device `from`
  const event* emptied;              ///< two events of device `to`
  cudaStream_t out_queue, in_queue;  ///< a stream of device `from`, and one of device `to`
};

constexpr unsigned kThreads = 256;

/// Blocks for a kernel of the current device whose threads have more than one word each.
inline unsigned blocks_for(std::size_t n) {
  const std::size_t most = std::size_t{8} * device_limit(cudaDevAttrMultiProcessorCount);
  return static_cast<unsigned>(std::min((n + kThreads - 1) / kThreads, most));
}

/// Whether kernels of `device` can be allowed to use the memory of `other`. Their own they may.
inline bool can_access(int device, int other) {
  int can = 1;
  if (device != other) CUDA_CHECK(cudaDeviceCanAccessPeer(&can, device, other));
  return can != 0;
}

inline void check(int from, int to, int copies, std::size_t piece) {
  const int devices = device_count();
  for (const int device : {from, to})
    refuse_if(device < 0 || device >= devices, "peer_copies: there is no device ", device,
              "; the last one is device ", devices - 1);
  refuse_if(copies < 1 || copies > kMostCopies, "peer_copies: ", copies,
            " copies; there must be 1 to ", kMostCopies);
  refuse_if(piece == 0, "peer_copies: pieces of 0 words; no number of them is enough");
}

/// The route that a step takes.
inline route route_of(step version, int from, int to) {
  if (version == step::through_host || version == step::in_pieces) return route::through_host;
  if (!can_access(from, to) || !can_access(to, from)) return route::through_host;
  return from == to ? route::within_device : route::direct;
}

/// send(), where copy(t) puts a single copy into the streams of t.
template <class Copy>
transfer host_part_of_send(step version, route path, int from, int to, std::span<const int> words,
                           int copies, std::size_t piece, const Copy& copy) {
  const std::size_t n = words.size();
  if (n == 0) return {{}, path, 0};
  const std::size_t room = version == step::through_host ? n : 2 * std::min(piece, n);
  pinned_buffer<int> host(path == route::through_host ? room : 0, cudaHostAllocPortable);
  CUDA_CHECK(cudaSetDevice(from));
  const device_buffer<int> source(words);
  CUDA_CHECK(cudaStreamSynchronize(nullptr));  // the words may still be on their way to the device
  const event begun, filled[2];
  event_timer timer;
  CUDA_CHECK(cudaSetDevice(to));
  device_buffer<int> target(n);
  const event done, emptied[2];
  // Streams are made last, so their ends are the first: all work is done before memory goes.
  const stream in_queue;
  CUDA_CHECK(cudaSetDevice(from));
  const stream out_queue;

  const task t{from,        to,     n,       piece,     source.data(), target.data(),
               host.data(), filled, emptied, out_queue, in_queue};
  timer.start(out_queue);
  make_wait(in_queue, out_queue, begun);
  for (int i = 0; i < copies; ++i) copy(t);
  make_wait(out_queue, in_queue, done);
  timer.stop();
  const float total_ms = timer.milliseconds();  // waits
  CUDA_CHECK(cudaSetDevice(to));
  return {target.to_vector(), path, total_ms / static_cast<float>(copies)};
}

}  // namespace lab::peer_copies
