// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// In pinned memory the chunks of a and of b take turns, so one copy brings a chunk of both; a block
// has 192 elements, which are no group.

#include <cuda_runtime.h>

#include "given.hpp"
#include "lab/pinned_buffer.hpp"
#include "lab/stream.hpp"

namespace lab::single_stream {
namespace {

/// `both` has `count` elements of a, and then as many of b.
__global__ void average(const int* both, int* c, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const std::size_t first = i - i % kGroup;
  const std::size_t size = first + kGroup <= count ? kGroup : count - first;
  const std::size_t k[3] = {i, first + (i - first + 1) % size, first + (i - first + 2) % size};
  long long means = 0;
  for (std::size_t vector = 0; vector < 2; ++vector) {
    const int* const x = both + vector * count;
    means += (static_cast<long long>(x[k[0]]) + x[k[1]] + x[k[2]]) / 3;
  }
  c[i] = static_cast<int>(means / 2);
}

}  // namespace

result process(std::span<const int> a, std::span<const int> b, std::size_t chunk) {
  const std::size_t n = a.size();
  refuse_if(n != b.size(), "single_stream: ", n, " elements of a, ", b.size(), " of b");
  refuse_if(chunk == 0 || chunk % kGroup != 0, "single_stream: ", chunk, " elements in a chunk");
  if (n == 0) return {};
  chunk = std::min(chunk, (n + kGroup - 1) / kGroup * kGroup);

  pinned_buffer<int> inputs(2 * n, cudaHostAllocPortable), output(n);
  for (std::size_t first = 0; first < n; first += chunk) {
    const std::size_t count = std::min(chunk, n - first);
    std::copy_n(a.data() + first, count, inputs.data() + 2 * first);
    std::copy_n(b.data() + first, count, inputs.data() + 2 * first + count);
  }
  device_buffer<int> both(2 * chunk), c(chunk);
  const stream queue;
  event_timer timer;
  timer.start(queue);
  for (std::size_t first = 0; first < n; first += chunk) {
    const std::size_t count = std::min(chunk, n - first);
    CUDA_CHECK(cudaMemcpyAsync(both.data(), inputs.data() + 2 * first, 2 * count * sizeof(int),
                               cudaMemcpyHostToDevice, queue));
    average<<<static_cast<unsigned>((count + 191) / 192), 192, 0, queue>>>(both.data(), c.data(),
                                                                           count);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpyAsync(output.data() + first, c.data(), count * sizeof(int),
                               cudaMemcpyDeviceToHost, queue));
  }
  timer.stop();
  CUDA_CHECK(cudaStreamSynchronize(queue));
  return {std::vector<int>(output.data(), output.data() + n), timer.milliseconds()};
}

}  // namespace lab::single_stream
