// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 12.1 zero_copy_dot: a kernel that reads the host's memory, over the bus.
// Edit:  this file, TODO(1) to TODO(4); bonus: TODO(5), TODO(6). Contract: zero_copy_dot.hpp
// Run:   scripts/lab run 12.1 -- --step copies     (then zero_copy and staged)
// Test:  scripts/lab test 12.1
// Hints: scripts/lab hint 12.1                     Chapter: docs/12_multi_gpu.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::zero_copy_dot {
namespace {

__global__ void sums_of_blocks(const float* a, const float* b, float* partial, std::size_t n) {
  __shared__ float cache[kThreads];
  // TODO(1): kInFlight products at a time, a stride of the grid apart, each with its own sum, as
  //          long as all of them exist; then the remaining ones. Store the block's sum at the
  //          block's index in `partial`, once.
  // BEGIN SOLUTION
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;

  float sums[kInFlight] = {};  // they do not wait for each other
  for (; i + (kInFlight - 1) * stride < n; i += kInFlight * stride) {
    for (unsigned k = 0; k < kInFlight; ++k) sums[k] += a[i + k * stride] * b[i + k * stride];
  }
  for (; i < n; i += stride) sums[0] += a[i] * b[i];  // fewer than kInFlight are left

  float thread_sum = 0;
  for (const float sum : sums) thread_sum += sum;
  const float sum = sum_of_block(cache, thread_sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
  // END SOLUTION
}

/// Given: puts the kernel into a stream, and returns while it runs.
void launch(unsigned blocks, const float* a, const float* b, float* partial, std::size_t n,
            cudaStream_t stream = nullptr) {
  sums_of_blocks<<<blocks, kThreads, 0, stream>>>(a, b, partial, n);
  CUDA_CHECK(cudaGetLastError());
}

// --- copies: to the device and back --------------------------------------------------------------

result copies(std::span<const float> a, std::span<const float> b) {
  // TODO(2): device_buffers for a, b and the partial sums. Then, with a host_timer running: copy
  //          the vectors, launch between start() and stop() of an event_timer, copy the partial
  //          sums back, add them up.
  // BEGIN SOLUTION
  // STUB: throw not_written("step copies", 2);
  const std::size_t n = a.size();
  const unsigned blocks = blocks_for(n);
  device_buffer<float> device_a(n);
  device_buffer<float> device_b(n);
  device_buffer<float> device_partial(blocks);
  event_timer kernel;

  const host_timer total;
  device_a.copy_from(a);
  device_b.copy_from(b);
  kernel.start();
  launch(blocks, device_a.data(), device_b.data(), device_partial.data(), n);
  kernel.stop();
  const std::vector<float> partial = device_partial.to_vector();  // a copy waits for the kernel
  const auto value = static_cast<float>(sum_of(partial));
  const auto total_ms = static_cast<float>(total.milliseconds());
  return {value, kernel.milliseconds(), total_ms};
  // END SOLUTION
}

// --- zero_copy: one memory for both --------------------------------------------------------------
// Requires that the device can map host memory. And now no copy waits for the kernel.

/// n floats of host memory that stay in place (pinned) and that the device can access, too
/// (mapped). In mapped_floats, `host` is the host's pointer, a std::unique_ptr that calls
/// cudaFreeHost, and `device` the device's. `flags` are added to cudaHostAllocMapped.
mapped_floats allocate_mapped(std::size_t n, unsigned flags) {
  // TODO(3): allocate with cudaHostAlloc, then call cudaHostGetDevicePointer. If that fails, memory
  //          without an owner leaks: let a mapped_floats own it first (host is a pinned_floats).
  // BEGIN SOLUTION
  // STUB: throw not_written("mapped memory", 3);
  void* memory = nullptr;
  CUDA_CHECK(cudaHostAlloc(&memory, n * sizeof(float), cudaHostAllocMapped | flags));
  mapped_floats mapped{pinned_floats(static_cast<float*>(memory))};  // owned from here on
  void* from_the_device = nullptr;
  CUDA_CHECK(cudaHostGetDevicePointer(&from_the_device, memory, 0));
  mapped.device = static_cast<float*>(from_the_device);
  return mapped;
  // END SOLUTION
}

result zero_copy(std::span<const float> a, std::span<const float> b) {
  require_mappable();
  // TODO(4): mapped memory for a and b, with the vectors copied to it. The host only writes these
  //          two: cudaHostAllocWriteCombined skips its caches. And mapped memory for the partial
  //          sums, which the host *reads*. Then, with a host_timer running, launch as before, with
  //          the device's pointers, and add up the partial sums in place. There is no longer a copy
  //          that waits for the kernel: what does?
  // BEGIN SOLUTION
  // STUB: throw not_written("step zero_copy", 4);
  const std::size_t n = a.size();
  const mapped_floats mapped_a = allocate_mapped(n, cudaHostAllocWriteCombined);
  const mapped_floats mapped_b = allocate_mapped(n, cudaHostAllocWriteCombined);
  std::ranges::copy(a, mapped_a.host.get());
  std::ranges::copy(b, mapped_b.host.get());
  const unsigned blocks = blocks_for(n);
  const mapped_floats partial = allocate_mapped(blocks, cudaHostAllocDefault);
  event_timer kernel;

  const host_timer total;
  kernel.start();
  launch(blocks, mapped_a.device, mapped_b.device, partial.device, n);
  kernel.stop();
  CUDA_CHECK(cudaDeviceSynchronize());  // until then the kernel may not even have begun
  const auto value = static_cast<float>(sum_of({partial.host.get(), blocks}));
  const auto total_ms = static_cast<float>(total.milliseconds());
  return {value, kernel.milliseconds(), total_ms};
  // END SOLUTION
}

// --- staged: from ordinary memory, through rings of pinned buffers -------------------------------
// Requires that no slot is refilled before the device has copied its contents.

/// A host thread's share: piece `first` and every `step`-th one after it.
void send_pieces(staging_lane& lane, std::span<const float> a, std::span<const float> b,
                 std::size_t first, std::size_t step) {
  // TODO(5, bonus): for each piece take the next slot of the ring. Wait for its event (if it was
  //                 never recorded, that takes no time); copy the piece of a and that of b into
  //                 it; queue the copies to lane.a and lane.b, the event, and the kernel.
  //                 Invariant: the host waits only for a slot that it needs. Why is one lane.a
  //                 enough, although the ring has several slots?
  // BEGIN SOLUTION
  const std::size_t piece = kStagingPiece;
  std::size_t turn = 0;
  for (std::size_t begin = first * piece; begin < a.size(); begin += step * piece, ++turn) {
    const std::size_t n = std::min(piece, a.size() - begin);
    float* const slot_a = lane.ring.data() + turn % kStagingSlots * 2 * piece;
    float* const slot_b = slot_a + piece;
    const event& fetched = lane.fetched[turn % kStagingSlots];
    CUDA_CHECK(cudaEventSynchronize(fetched));
    std::copy_n(a.data() + begin, n, slot_a);  // a memmove; std::ranges::copy would be a loop
    std::copy_n(b.data() + begin, n, slot_b);
    // A stream executes in order: these copies come after the kernel for the previous piece.
    CUDA_CHECK(cudaMemcpyAsync(lane.a.data(), slot_a, n * sizeof(float), cudaMemcpyHostToDevice,
                               lane.queue));
    CUDA_CHECK(cudaMemcpyAsync(lane.b.data(), slot_b, n * sizeof(float), cudaMemcpyHostToDevice,
                               lane.queue));
    CUDA_CHECK(cudaEventRecord(fetched, lane.queue));
    launch(lane.blocks, lane.a.data(), lane.b.data(), lane.partial.data() + turn * lane.blocks, n,
           lane.queue);
  }
  // END SOLUTION
}

result staged(std::span<const float> a, std::span<const float> b) {
  const auto lanes = lanes_for(a.size());  // pointers to them: one for each host thread
  // TODO(6, bonus): with a host_timer running, in_host_threads() that make this thread's device
  //                 (cudaGetDevice) current and send their pieces. Then each stream's sums:
  //                 to_vector() does not wait for it.
  // BEGIN SOLUTION
  // STUB: throw not_written("step staged", 5);
  int device = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  const host_timer total;
  in_host_threads(lanes.size(), [&](std::size_t k) {
    CUDA_CHECK(cudaSetDevice(device));  // in a new thread it is device 0
    send_pieces(*lanes[k], a, b, k, lanes.size());
  });
  double sum = 0;
  for (const auto& each : lanes) {
    CUDA_CHECK(cudaStreamSynchronize(each->queue));
    sum += sum_of(each->partial.to_vector());
  }
  const auto total_ms = static_cast<float>(total.milliseconds());
  return {static_cast<float>(sum), total_ms, total_ms};
  // END SOLUTION
}

}  // namespace

result dot(step version, std::span<const float> a, std::span<const float> b) {
  require_good(a, b);
  if (a.empty()) return {};  // a grid of no blocks would be an error
  if (version == step::copies) return copies(a, b);
  if (version == step::zero_copy) return zero_copy(a, b);
  return staged(a, b);
}

}  // namespace lab::zero_copy_dot
