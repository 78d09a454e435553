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
  throw not_written("step copies", 2);
}

// --- zero_copy: one memory for both --------------------------------------------------------------
// Requires that the device can map host memory. And now no copy waits for the kernel.

/// n floats of host memory that stay in place (pinned) and that the device can access, too
/// (mapped). In mapped_floats, `host` is the host's pointer, a std::unique_ptr that calls
/// cudaFreeHost, and `device` the device's. `flags` are added to cudaHostAllocMapped.
mapped_floats allocate_mapped(std::size_t n, unsigned flags) {
  // TODO(3): allocate with cudaHostAlloc, then call cudaHostGetDevicePointer. If that fails, memory
  //          without an owner leaks: let a mapped_floats own it first (host is a pinned_floats).
  throw not_written("mapped memory", 3);
}

result zero_copy(std::span<const float> a, std::span<const float> b) {
  require_mappable();
  // TODO(4): mapped memory for a and b, with the vectors copied to it. The host only writes these
  //          two: cudaHostAllocWriteCombined skips its caches. And mapped memory for the partial
  //          sums, which the host *reads*. Then, with a host_timer running, launch as before, with
  //          the device's pointers, and add up the partial sums in place. There is no longer a copy
  //          that waits for the kernel: what does?
  throw not_written("step zero_copy", 4);
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
}

result staged(std::span<const float> a, std::span<const float> b) {
  const auto lanes = lanes_for(a.size());  // pointers to them: one for each host thread
  // TODO(6, bonus): with a host_timer running, in_host_threads() that make this thread's device
  //                 (cudaGetDevice) current and send their pieces. Then each stream's sums:
  //                 to_vector() does not wait for it.
  throw not_written("step staged", 5);
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
