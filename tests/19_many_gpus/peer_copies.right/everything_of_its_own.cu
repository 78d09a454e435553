// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Nothing of the given host part is used: a std::vector is registered for the pieces, each copy or
// piece has its own events, devices may access each other while a vector of guards lives, and
// peer_kernel reads four words at a time.

#include <cuda_runtime.h>

#include <deque>
#include <memory>

#include "given.hpp"

namespace lab::peer_copies {
namespace {

/// Page-locked for all devices while it lives.
class registered {
 public:
  explicit registered(std::size_t n) : words_(std::max<std::size_t>(n, 1)) {
    CUDA_CHECK(
        cudaHostRegister(words_.data(), words_.size() * sizeof(int), cudaHostRegisterPortable));
  }
  ~registered() { CUDA_CHECK_NOTHROW(cudaHostUnregister(words_.data())); }
  registered(const registered&) = delete;
  registered& operator=(const registered&) = delete;
  int* data() { return words_.data(); }

 private:
  std::vector<int> words_;
};

struct disable_access {
  int of = 0;
  void operator()(const int* to) const noexcept {
    CUDA_CHECK_NOTHROW(cudaSetDevice(of));
    CUDA_CHECK_NOTHROW(cudaDeviceDisablePeerAccess(*to));
  }
};
using access_guard = std::unique_ptr<const int, disable_access>;

/// A guard that disables what this call has enabled; an empty one if there was nothing to enable.
access_guard allow(int device, const int& other) {
  if (device == other) return {};
  CUDA_CHECK(cudaSetDevice(device));
  const cudaError_t status = cudaDeviceEnablePeerAccess(other, 0);
  if (status == cudaErrorPeerAccessAlreadyEnabled) {
    (void)cudaGetLastError();
    return {};
  }
  CUDA_CHECK(status);
  return {&other, {device}};
}

__global__ void fetch(const int* source, int* target, std::size_t n) {
  const std::size_t thread = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x, fours = n / 4;
  for (std::size_t i = thread; i < fours; i += threads)
    reinterpret_cast<int4*>(target)[i] = reinterpret_cast<const int4*>(source)[i];
  for (std::size_t i = 4 * fours + thread; i < n; i += threads) target[i] = source[i];
}

/// The streams of a call, and the events between them.
class queues {
 public:
  queues(int from, int to) : from_(from), to_(to) {
    CUDA_CHECK(cudaSetDevice(to));
    in_.emplace();
    CUDA_CHECK(cudaSetDevice(from));
    out_.emplace();
  }
  cudaStream_t out() const { return *out_; }
  cudaStream_t in() const { return *in_; }
  void in_waits() { wait(from_, out(), in()); }
  void out_waits() { wait(to_, in(), out()); }

 private:
  void wait(int device, cudaStream_t earlier, cudaStream_t later) {
    CUDA_CHECK(cudaSetDevice(device));
    events_.emplace_back();
    make_wait(later, earlier, events_.back());
  }
  int from_, to_;
  std::deque<event> events_;
  std::optional<stream> out_, in_;
};

}  // namespace

transfer send(step version, int from, int to, std::span<const int> words, int copies,
              std::size_t piece) {
  check(from, to, copies, piece);
  const keep_current_device keep;
  const std::size_t n = words.size();
  const bool peers = can_access(from, to) && can_access(to, from);
  const bool by_host = version == step::through_host || version == step::in_pieces || !peers;
  transfer done;
  done.path = by_host ? route::through_host : from == to ? route::within_device : route::direct;
  if (n == 0) return done;

  std::vector<access_guard> guards;
  if (!by_host) {
    guards.push_back(allow(from, to));
    guards.push_back(allow(to, from));
  }
  CUDA_CHECK(cudaSetDevice(to));
  device_buffer<int> target(n);
  CUDA_CHECK(cudaSetDevice(from));
  const device_buffer<int> source(words);
  const std::size_t part = version == step::through_host ? n : std::min(piece, n);
  registered host(version == step::through_host ? n : by_host ? 2 * part : 0);
  queues q(from, to);

  event_timer timer;
  timer.start(q.out());
  q.in_waits();
  std::size_t sent = 0;  // parts
  for (int i = 0; i < copies; ++i) {
    if (version == step::peer_copy) {
      CUDA_CHECK(
          cudaMemcpyPeerAsync(target.data(), to, source.data(), from, n * sizeof(int), q.out()));
    } else if (!by_host) {
      CUDA_CHECK(cudaSetDevice(to));
      fetch<<<blocks_for(n), kThreads, 0, q.in()>>>(source.data(), target.data(), n);
      CUDA_CHECK(cudaGetLastError());
    } else {
      for (std::size_t first = 0; first < n; first += part, ++sent) {
        const std::size_t bytes = std::min(part, n - first) * sizeof(int);
        const std::size_t positions = version == step::through_host ? 1 : 2;
        int* const position = host.data() + sent % positions * part;
        if (sent > 0 && positions == 1) q.out_waits();
        CUDA_CHECK(cudaMemcpyAsync(position, source.data() + first, bytes, cudaMemcpyDeviceToHost,
                                   q.out()));
        // The next part goes to the other half, which is free when the previous part has arrived.
        if (sent > 0 && positions == 2) q.out_waits();
        q.in_waits();
        CUDA_CHECK(cudaMemcpyAsync(target.data() + first, position, bytes, cudaMemcpyHostToDevice,
                                   q.in()));
      }
    }
  }
  q.out_waits();
  CUDA_CHECK(cudaSetDevice(from));
  timer.stop();
  done.copy_ms = timer.milliseconds() / static_cast<float>(copies);
  CUDA_CHECK(cudaSetDevice(to));
  done.arrived = target.to_vector();
  return done;
}

}  // namespace lab::peer_copies
