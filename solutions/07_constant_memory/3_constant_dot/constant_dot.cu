// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 07.3 constant_dot: a vector is copied through 64 KiB of constant memory, piece by piece.
// Edit:  this nearly empty file: TODO(1) to TODO(4). constant_dot.hpp has the contract.
// Run:   scripts/lab run 07.3 -- --step global_memory     (then constant_memory)
// Test:  scripts/lab test 07.3
// Hints: scripts/lab hint 07.3                     Chapter: docs/07_constant_memory.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::constant_dot {
namespace {

// TODO(1): step global_memory: a kernel with a product per thread, whose blocks store their sums
//          (sum_of_block() of lab/block_sum.hpp; a thread without an element contributes 0), and
//          its launch in a time_kernel(). The host adds the blocks' sums (sum_of() of given.hpp).
// BEGIN SOLUTION
constexpr unsigned kThreads = 256;
constexpr unsigned kBlocks = kMostInAPass / kThreads;  // of a pass: a thread for each element
static_assert(kMostInAPass % kThreads == 0, "the blocks of a pass cover it without a rest");

// --- global_memory: the baseline for the other step ----------------------------------------------

__global__ void from_global_memory(const float* a, const float* b, std::size_t n, float* partial) {
  __shared__ float cache[kThreads];
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const float sum = sum_of_block(cache, i < n ? a[i] * b[i] : 0);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

result dot_in_global_memory(const float* a, std::span<const float> b) {
  const device_buffer device_b(b);
  const auto blocks = static_cast<unsigned>((b.size() + kThreads - 1) / kThreads);
  device_buffer<float> partial(blocks);
  const float kernel_ms = time_kernel([&] {
    from_global_memory<<<blocks, kThreads>>>(a, device_b.data(), b.size(), partial.data());
  });
  return {sum_of(partial), 1, kernel_ms};
}
// END SOLUTION

// TODO(2): step constant_memory: an array of kMostInAPass floats in constant memory, and the same
//          kernel with b there. After the last element of a pass, the array still has the values
//          of an earlier pass.
// BEGIN SOLUTION
// --- constant_memory: each pass has as many elements as fit --------------------------------------

__constant__ float constant_b[kMostInAPass];

/// `a` points to the first of the pass's `count` elements; constant_b begins there as well.
__global__ void from_constant_memory(const float* a, std::size_t count, float* partial) {
  __shared__ float cache[kThreads];
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const float sum = sum_of_block(cache, i < count ? a[i] * constant_b[i] : 0);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}
// END SOLUTION

// TODO(3): its passes: copy a part of b, launch on the same part of a. Each block of each pass has
//          its own element in the partial sums, and no kernel sees the numbers of another
//          pass. Use an event_timer for each pass, and read them only after the last launch:
//          milliseconds() waits. Check every launch.
// BEGIN SOLUTION
result dot_in_constant_memory(const float* a, std::span<const float> b) {
  const std::size_t passes = (b.size() + kMostInAPass - 1) / kMostInAPass;
  device_buffer<float> partial(passes * kBlocks);
  std::vector<event_timer> timers(passes);
  for (std::size_t pass = 0; pass < passes; ++pass) {
    const std::size_t first = pass * kMostInAPass;
    const std::size_t count = std::min(kMostInAPass, b.size() - first);
    // In the default stream this copy waits for the kernel of the previous pass, which reads the
    // same array, and the next kernel waits for this copy.
    CUDA_CHECK(cudaMemcpyToSymbol(constant_b, b.data() + first, count * sizeof(float)));
    timers[pass].start();
    from_constant_memory<<<kBlocks, kThreads>>>(a + first, count, partial.data() + pass * kBlocks);
    timers[pass].stop();
    CUDA_CHECK(cudaGetLastError());
  }
  float kernel_ms = 0;
  for (const event_timer& timer : timers) kernel_ms += timer.milliseconds();
  return {sum_of(partial), passes, kernel_ms};
}
// END SOLUTION

}  // namespace

result dot(step version, std::span<const float> a, std::span<const float> b) {
  // TODO(4): reject what the contract rejects; a on the device; then the step's function.
  // BEGIN SOLUTION
  // STUB: if (version == step::global_memory) throw not_written("step global_memory", 1);
  // STUB: throw not_written("step constant_memory", 2);  // 2 and 3
  refuse_if(a.size() != b.size(), "constant_dot: a has ", a.size(), " elements and b has ",
            b.size(), "; they must be equally long");
  if (a.empty()) return {};  // a grid of no blocks would be an error
  const device_buffer device_a(a);
  return version == step::global_memory ? dot_in_global_memory(device_a.data(), b)
                                        : dot_in_constant_memory(device_a.data(), b);
  // END SOLUTION
}

}  // namespace lab::constant_dot
