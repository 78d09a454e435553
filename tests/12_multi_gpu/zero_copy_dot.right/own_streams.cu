// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Each step has a stream of its own, zero_copy one block of memory for both vectors, and the sums
// of step copies are fetched into pinned memory.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::zero_copy_dot {
namespace {

__global__ void sums_of_blocks(const float* a, const float* b, float* partial, std::size_t n) {
  __shared__ float cache[kThreads];
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;

  float sums[kInFlight] = {};
  for (; i + (kInFlight - 1) * stride < n; i += kInFlight * stride) {
    for (unsigned k = 0; k < kInFlight; ++k) sums[k] += a[i + k * stride] * b[i + k * stride];
  }
  for (; i < n; i += stride) sums[0] += a[i] * b[i];

  const float sum = sum_of_block(cache, (sums[0] + sums[1]) + (sums[2] + sums[3]));
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

void launch(unsigned blocks, const float* a, const float* b, float* partial, std::size_t n,
            cudaStream_t stream = nullptr) {
  sums_of_blocks<<<blocks, kThreads, 0, stream>>>(a, b, partial, n);
  CUDA_CHECK(cudaGetLastError());
}

// --- copies --------------------------------------------------------------------------------------

result copies(std::span<const float> a, std::span<const float> b) {
  const std::size_t n = a.size();
  const unsigned blocks = blocks_for(n);
  device_buffer<float> both(2 * n), partial(blocks);
  float* const device_a = both.data();
  float* const device_b = device_a + n;
  pinned_buffer<float> sums_memory(blocks);
  const stream queue;
  event_timer kernel;

  const host_timer total;
  CUDA_CHECK(cudaMemcpyAsync(device_a, a.data(), a.size_bytes(), cudaMemcpyHostToDevice, queue));
  CUDA_CHECK(cudaMemcpyAsync(device_b, b.data(), b.size_bytes(), cudaMemcpyHostToDevice, queue));
  kernel.start(queue);
  launch(blocks, device_a, device_b, partial.data(), n, queue);
  kernel.stop();
  CUDA_CHECK(cudaMemcpyAsync(sums_memory.data(), partial.data(), partial.size_bytes(),
                             cudaMemcpyDeviceToHost, queue));
  CUDA_CHECK(cudaStreamSynchronize(queue));
  const std::span<const float> sums = sums_memory.span();

  result r;
  r.value = static_cast<float>(sum_of(sums));
  r.total_ms = static_cast<float>(total.milliseconds());
  r.kernel_ms = kernel.milliseconds();
  return r;
}

// --- zero_copy -----------------------------------------------------------------------------------

mapped_floats allocate_mapped(std::size_t n, unsigned flags) {
  mapped_floats memory;
  float* host = nullptr;
  CUDA_CHECK(cudaHostAlloc(&host, n * sizeof(float), cudaHostAllocMapped | flags));
  memory.host.reset(host);
  CUDA_CHECK(cudaHostGetDevicePointer(&memory.device, host, 0));
  return memory;
}

result zero_copy(std::span<const float> a, std::span<const float> b) {
  require_mappable();
  const std::size_t n = a.size();
  const unsigned blocks = blocks_for(n);
  const mapped_floats both = allocate_mapped(2 * n, cudaHostAllocWriteCombined);
  const mapped_floats partial = allocate_mapped(blocks, 0);
  std::copy(b.begin(), b.end(), std::copy(a.begin(), a.end(), both.host.get()));
  event_timer kernel;
  const stream queue;

  const host_timer total;
  kernel.start(queue);
  launch(blocks, both.device, both.device + n, partial.device, n, queue);
  kernel.stop();
  CUDA_CHECK(cudaStreamSynchronize(queue));
  result r;
  r.value = static_cast<float>(sum_of({partial.host.get(), blocks}));
  r.total_ms = static_cast<float>(total.milliseconds());
  r.kernel_ms = kernel.milliseconds();
  return r;
}

// --- staged --------------------------------------------------------------------------------------

void send_pieces(staging_lane& lane, std::span<const float> a, std::span<const float> b,
                 std::size_t first, std::size_t step) {
  std::size_t turn = 0;
  for (std::size_t piece = first; piece < staging_pieces(a.size()); piece += step, ++turn) {
    const std::size_t begin = piece * kStagingPiece;
    const std::size_t count = std::min(kStagingPiece, a.size() - begin);
    const std::size_t slot = turn % kStagingSlots;
    float* const slot_a = lane.ring.data() + slot * 2 * kStagingPiece;
    float* const slot_b = slot_a + kStagingPiece;
    CUDA_CHECK(cudaEventSynchronize(lane.fetched[slot]));
    std::copy_n(a.data() + begin, count, slot_a);
    std::copy_n(b.data() + begin, count, slot_b);
    CUDA_CHECK(cudaMemcpyAsync(lane.a.data(), slot_a, count * sizeof(float), cudaMemcpyHostToDevice,
                               lane.queue));
    CUDA_CHECK(cudaMemcpyAsync(lane.b.data(), slot_b, count * sizeof(float), cudaMemcpyHostToDevice,
                               lane.queue));
    CUDA_CHECK(cudaEventRecord(lane.fetched[slot], lane.queue));
    launch(lane.blocks, lane.a.data(), lane.b.data(), lane.partial.data() + turn * lane.blocks,
           count, lane.queue);
  }
}

result staged(std::span<const float> a, std::span<const float> b) {
  const auto lanes = lanes_for(a.size());
  int device = 0;
  CUDA_CHECK(cudaGetDevice(&device));

  const host_timer total;
  in_host_threads(lanes.size(), [&](std::size_t k) {
    CUDA_CHECK(cudaSetDevice(device));
    send_pieces(*lanes[k], a, b, k, lanes.size());
  });
  double sum = 0;
  for (const auto& lane : lanes) {
    CUDA_CHECK(cudaStreamSynchronize(lane->queue));
    for (const float one : lane->partial.to_vector()) sum += one;
  }

  result r;
  r.value = static_cast<float>(sum);
  r.total_ms = static_cast<float>(total.milliseconds());
  r.kernel_ms = r.total_ms;
  return r;
}

}  // namespace

result dot(step version, std::span<const float> a, std::span<const float> b) {
  require_good(a, b);
  if (a.empty()) return {};
  if (version == step::copies) return copies(a, b);
  if (version == step::zero_copy) return zero_copy(a, b);
  return staged(a, b);
}

}  // namespace lab::zero_copy_dot
