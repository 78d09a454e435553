// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 12.2 multi_gpu_dot: what multi_gpu_dot.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <exception>
#include <list>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "lab/block_sum.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/host_threads.hpp"
#include "lab/refuse_if.hpp"
#include "lab/staging.hpp"
#include "lab/stream.hpp"
#include "lab/timer.hpp"
#include "multi_gpu_dot.hpp"

namespace lab::multi_gpu_dot {

constexpr unsigned kThreads = 256;  // a power of two: the tree halves it
constexpr unsigned kInFlight = 4;   // products of a thread that are under way at the same time

// --- given: the dot product of one device, as in 05.1 --------------------------------------------

__global__ void sums_of_blocks(const float* a, const float* b, float* partial, std::size_t n) {
  __shared__ float cache[kThreads];
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;

  float sums[kInFlight] = {};
  for (; i + (kInFlight - 1) * stride < n; i += kInFlight * stride) {
    for (unsigned k = 0; k < kInFlight; ++k) sums[k] += a[i + k * stride] * b[i + k * stride];
  }
  for (; i < n; i += stride) sums[0] += a[i] * b[i];

  float thread_sum = 0;
  for (const float sum : sums) thread_sum += sum;
  const float sum = sum_of_block(cache, thread_sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

/// A grid that fills `device`, or fewer blocks if n needs no more.
inline unsigned blocks_for(std::size_t n, int device) {
  int processors = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  const std::size_t most = 8 * static_cast<std::size_t>(processors);
  return static_cast<unsigned>(std::min((n + kThreads - 1) / kThreads, most));
}

/// What one device found out.
struct part_result {
  double sum = 0;
  float kernel_ms = 0, total_ms = 0;
};

inline double sum_of(const std::vector<float>& partial) {
  return std::accumulate(partial.begin(), partial.end(), 0.0);
}

/// The devices' sums together, and the slowest one's times.
inline result total_of(std::span<const part_result> parts) {
  double sum = 0;
  float kernel_ms = 0, total_ms = 0;
  for (const part_result& part : parts) {
    sum += part.sum;
    kernel_ms = std::max(kernel_ms, part.kernel_ms);
    total_ms = std::max(total_ms, part.total_ms);
  }
  return {static_cast<float>(sum), kernel_ms, total_ms};
}

/// Puts the kernel into a stream of the *current device*, where the pointers have to be, too.
inline void launch(unsigned blocks, const float* a, const float* b, float* partial, std::size_t n,
                   cudaStream_t stream) {
  sums_of_blocks<<<blocks, kThreads, 0, stream>>>(a, b, partial, n);
  CUDA_CHECK(cudaGetLastError());
}

__global__ void do_nothing() {}

/// launch(), and `kernel` times it. A launch takes some microseconds to get to the device, and an
/// event in front of it is recorded long before. So an empty kernel goes first: while that is on
/// its way, events and kernel are queued, and then one follows the other.
inline void timed_launch(event_timer& kernel, unsigned blocks, const float* a, const float* b,
                         float* partial, std::size_t n, cudaStream_t stream) {
  do_nothing<<<1, 1, 0, stream>>>();
  CUDA_CHECK(cudaGetLastError());
  kernel.start(stream);
  launch(blocks, a, b, partial, n, stream);
  kernel.stop();
}

// --- given: staged -------------------------------------------------------------------------------

/// A host thread's share of a device's part: of the elements from `begin` to `end` - 1, piece
/// `first` and every `step`-th one after it.
struct share_of_pieces {
  int device;
  std::size_t begin, end, first, step;
  std::size_t pieces() const { return (staging_pieces(end - begin) - first + step - 1) / step; }
};

/// Several shares for each part that has elements.
inline std::vector<share_of_pieces> shares_of_pieces(std::span<const std::size_t> cuts) {
  std::vector<share_of_pieces> all;
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
    const std::size_t threads = staging_threads(cuts[k + 1] - cuts[k], cuts.size() - 1);
    for (std::size_t first = 0; first < threads; ++first)
      all.push_back({static_cast<int>(k), cuts[k], cuts[k + 1], first, threads});
  }
  return all;
}

/// The bonus step of 12.1 (do that first; this is its solution): sends a share's pieces through the
/// ring of pinned buffers to the current device.
inline void send_pieces(staging_lane& lane, std::span<const float> a, std::span<const float> b,
                        const share_of_pieces& share) {
  const std::size_t piece = kStagingPiece;
  std::size_t turn = 0;
  for (std::size_t begin = share.begin + share.first * piece; begin < share.end;
       begin += share.step * piece, ++turn) {
    const std::size_t n = std::min(piece, share.end - begin);
    float* const slot_a = lane.ring.data() + turn % kStagingSlots * 2 * piece;
    float* const slot_b = slot_a + piece;
    const event& fetched = lane.fetched[turn % kStagingSlots];
    CUDA_CHECK(cudaEventSynchronize(fetched));
    std::copy_n(a.data() + begin, n, slot_a);  // memmove, where std::ranges::copy is a loop
    std::copy_n(b.data() + begin, n, slot_b);
    CUDA_CHECK(cudaMemcpyAsync(lane.a.data(), slot_a, n * sizeof(float), cudaMemcpyHostToDevice,
                               lane.queue));
    CUDA_CHECK(cudaMemcpyAsync(lane.b.data(), slot_b, n * sizeof(float), cudaMemcpyHostToDevice,
                               lane.queue));
    CUDA_CHECK(cudaEventRecord(fetched, lane.queue));
    launch(lane.blocks, lane.a.data(), lane.b.data(), lane.partial.data() + turn * lane.blocks, n,
           lane.queue);
  }
}

}  // namespace lab::multi_gpu_dot
