// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 12.1 zero_copy_dot: a kernel that reads the host's memory, over the bus.
// Edit:  this file, from TODO(1) to TODO(4). zero_copy_dot.hpp says what is asked for.
// Run:   scripts/lab run 12.1 -- --step copies     (then --step zero_copy)
// Test:  scripts/lab test 12.1
// Hints: scripts/lab hint 12.1                     Chapter: docs/12_multi_gpu.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::zero_copy_dot {
namespace {

__global__ void sums_of_blocks(const float* a, const float* b, float* partial, std::size_t n) {
  __shared__ float cache[kThreads];
  // TODO(1): kInFlight products at a time, a stride of the grid apart, each with a sum of its own,
  //          as long as all of them are there; then what is left. The block's sum goes to its
  //          place in `partial`, once.
  // BEGIN SOLUTION
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;

  float sums[kInFlight] = {};  // none waits for another
  for (; i + (kInFlight - 1) * stride < n; i += kInFlight * stride) {
    for (unsigned k = 0; k < kInFlight; ++k) sums[k] += a[i + k * stride] * b[i + k * stride];
  }
  for (; i < n; i += stride) sums[0] += a[i] * b[i];  // fewer than kInFlight are left

  float mine = 0;
  for (const float sum : sums) mine += sum;
  const float sum = sum_of_block(cache, mine);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
  // END SOLUTION
}

/// Given: puts the kernel into the default stream, and comes back while it runs.
void launch(unsigned blocks, const float* a, const float* b, float* partial, std::size_t n) {
  sums_of_blocks<<<blocks, kThreads>>>(a, b, partial, n);
  CUDA_CHECK(cudaGetLastError());
}

// --- copies: there and back again ----------------------------------------------------------------

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
  const float value = sum_of(partial);
  const auto total_ms = static_cast<float>(total.milliseconds());
  return {value, kernel.milliseconds(), total_ms};
  // END SOLUTION
}

}  // namespace

// --- zero_copy: one memory for both --------------------------------------------------------------
// Requires that the device can map host memory. And now nothing waits for the kernel by itself.

/// n floats of host memory that stay where they are (pinned) and that the device can reach too
/// (mapped). Each side has a pointer to them.
class mapped_buffer {
 public:
  /// `flags` are added to cudaHostAllocMapped.
  mapped_buffer(std::size_t n, unsigned flags) : size_(n) {
    // TODO(3): allocate with cudaHostAlloc into host_, and ask cudaHostGetDevicePointer for
    //          device_. If that fails the destructor will not run: free host_ before throwing.
    // BEGIN SOLUTION
    // STUB: throw not_written("mapped memory", 3);
    void* memory = nullptr;
    CUDA_CHECK(cudaHostAlloc(&memory, n * sizeof(float), cudaHostAllocMapped | flags));
    host_ = static_cast<float*>(memory);
    void* from_the_device = nullptr;
    const cudaError_t status = cudaHostGetDevicePointer(&from_the_device, memory, 0);
    if (status != cudaSuccess) CUDA_CHECK_NOTHROW(cudaFreeHost(memory));
    CUDA_CHECK(status);
    device_ = static_cast<float*>(from_the_device);
    // END SOLUTION
  }
  mapped_buffer(const mapped_buffer&) = delete;
  mapped_buffer& operator=(const mapped_buffer&) = delete;
  ~mapped_buffer() { CUDA_CHECK_NOTHROW(cudaFreeHost(host_)); }

  std::span<float> host() { return {host_, size_}; }
  float* device() { return device_; }

 private:
  std::size_t size_;
  float* host_ = nullptr;
  float* device_ = nullptr;
};

namespace {

result zero_copy(std::span<const float> a, std::span<const float> b) {
  require_mappable();
  const std::size_t n = a.size();
  // The host only ever writes these two: write-combined memory skips its caches. (Reading it back
  // on the host would be very slow.)
  mapped_buffer mapped_a(n, cudaHostAllocWriteCombined);
  mapped_buffer mapped_b(n, cudaHostAllocWriteCombined);
  std::ranges::copy(a, mapped_a.host().begin());
  std::ranges::copy(b, mapped_b.host().begin());

  // TODO(4): mapped memory for the partial sums, which the host *reads*. Then, with a host_timer
  //          running, launch as before, with the device's pointers, and add up the partial sums
  //          where they are. There is no copy any more that would wait for the kernel: who does?
  // BEGIN SOLUTION
  // STUB: throw not_written("step zero_copy", 4);
  const unsigned blocks = blocks_for(n);
  mapped_buffer partial(blocks, cudaHostAllocDefault);
  event_timer kernel;

  const host_timer total;
  kernel.start();
  launch(blocks, mapped_a.device(), mapped_b.device(), partial.device(), n);
  kernel.stop();
  CUDA_CHECK(cudaDeviceSynchronize());  // until then the kernel may not even have begun
  const float value = sum_of(partial.host());
  const auto total_ms = static_cast<float>(total.milliseconds());
  return {value, kernel.milliseconds(), total_ms};
  // END SOLUTION
}

}  // namespace

result dot(step which, std::span<const float> a, std::span<const float> b) {
  require_good(a, b);
  if (a.empty()) return {};  // a grid of no blocks would be an error
  return which == step::copies ? copies(a, b) : zero_copy(a, b);
}

}  // namespace lab::zero_copy_dot
