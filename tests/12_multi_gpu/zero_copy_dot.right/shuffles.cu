// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The lanes of a warp add up in double, by shuffles, and only the warps' sums are in shared memory;
// a lane of step staged sends pieces that lie together.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::zero_copy_dot {
namespace {

__global__ void sums_of_blocks(const float* a, const float* b, float* partial, std::size_t n) {
  constexpr unsigned kWarp = 32;
  __shared__ double of_warps[kThreads / kWarp];
  const std::size_t stride = std::size_t{gridDim.x} * kThreads;
  const std::size_t mine = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  double even = 0, odd = 0;
  std::size_t i = mine;
  while (i < n) {
    const bool both = i + stride < n;
    const float product = a[i] * b[i];
    const float next = both ? a[i + stride] * b[i + stride] : 0.0F;
    even += product;
    odd += next;
    i += 2 * stride;
  }
  double sum = even + odd;
  for (unsigned step = kWarp / 2; step > 0; step /= 2)
    sum += __shfl_down_sync(0xffffffffU, sum, step);
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    double all = 0;
    for (const double one : of_warps) all += one;
    partial[blockIdx.x] = static_cast<float>(all);
  }
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
  device_buffer<float> device_a(n), device_b(n), partial(blocks);
  event_timer kernel;

  const host_timer total;
  device_a.copy_from(a);
  device_b.copy_from(b);
  kernel.start();
  launch(blocks, device_a.data(), device_b.data(), partial.data(), n);
  kernel.stop();
  const std::vector<float> sums = partial.to_vector();

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
  const mapped_floats mapped_a = allocate_mapped(n, cudaHostAllocWriteCombined);
  const mapped_floats mapped_b = allocate_mapped(n, cudaHostAllocWriteCombined);
  const mapped_floats partial = allocate_mapped(blocks, 0);
  std::copy(a.begin(), a.end(), mapped_a.host.get());
  std::copy(b.begin(), b.end(), mapped_b.host.get());
  event_timer kernel;

  const host_timer total;
  kernel.start();
  launch(blocks, mapped_a.device, mapped_b.device, partial.device, n);
  kernel.stop();
  result r;
  r.kernel_ms = kernel.milliseconds();  // waits for the kernel
  r.value = static_cast<float>(sum_of({partial.host.get(), blocks}));
  r.total_ms = static_cast<float>(total.milliseconds());
  return r;
}

// --- staged --------------------------------------------------------------------------------------

void send_pieces(staging_lane& lane, std::span<const float> a, std::span<const float> b,
                 std::size_t first, std::size_t pieces) {
  for (std::size_t turn = 0; turn < pieces; ++turn) {
    const std::size_t begin = (first + turn) * kStagingPiece;
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
    std::size_t first = 0;  // the lanes before this one have so many
    for (std::size_t j = 0; j < k; ++j) first += lanes[j]->partial.size() / lanes[j]->blocks;
    send_pieces(*lanes[k], a, b, first, lanes[k]->partial.size() / lanes[k]->blocks);
    CUDA_CHECK(cudaStreamSynchronize(lanes[k]->queue));
  });
  double sum = 0;
  for (const auto& lane : lanes) sum += sum_of(lane->partial.to_vector());

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
