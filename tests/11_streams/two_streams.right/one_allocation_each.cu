// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// One array of pinned memory and one of the device, cut into parts; streams with
// a priority; a thread has four elements; the kernel overwrites a with c.

#include <cuda_runtime.h>

#include <memory>

#include "given.hpp"

namespace lab::two_streams {
namespace {

struct host_free {
  void operator()(int* memory) const noexcept { CUDA_CHECK_NOTHROW(cudaFreeHost(memory)); }
};
struct device_free {
  void operator()(int* memory) const noexcept { CUDA_CHECK_NOTHROW(cudaFree(memory)); }
};

constexpr unsigned kEach = 4, kThreads4 = kGroup / kEach;

/// One block for a group. All threads have read what they need of a before c replaces it.
__global__ void average_in_place(int* a, const int* b, std::size_t count) {
  const std::size_t first = std::size_t{blockIdx.x} * kGroup;
  const auto size = static_cast<unsigned>(min(kGroup, count - first));
  int result[kEach];
  for (unsigned e = 0; e < kEach; ++e) {
    const unsigned k = threadIdx.x + e * kThreads4;
    if (k < size)
      result[e] = static_cast<int>(
          (mean_of_neighbours(a, first, size, k) + mean_of_neighbours(b, first, size, k)) / 2);
  }
  __syncthreads();
  for (unsigned e = 0; e < kEach; ++e) {
    const unsigned k = threadIdx.x + e * kThreads4;
    if (k < size) a[first + k] = result[e];
  }
}

struct worker {
  explicit worker(int* memory, std::size_t chunk) : a(memory), b(memory + chunk) {
    int least = 0, greatest = 0;
    CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CUDA_CHECK(cudaStreamCreateWithPriority(&queue, cudaStreamNonBlocking, greatest));
  }
  ~worker() {
    CUDA_CHECK_NOTHROW(cudaStreamSynchronize(queue));
    CUDA_CHECK_NOTHROW(cudaStreamDestroy(queue));
  }
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;

  void copy(int* to, const int* from, std::size_t count) const {
    if (count > 0)
      CUDA_CHECK(cudaMemcpyAsync(to, from, count * sizeof(int), cudaMemcpyDefault, queue));
  }
  void calculate(std::size_t count) const {
    if (count == 0) return;
    average_in_place<<<static_cast<unsigned>((count - 1) / kGroup + 1), kThreads4, 0, queue>>>(
        a, b, count);
    CUDA_CHECK(cudaGetLastError());
  }

  int *a, *b;
  cudaStream_t queue = nullptr;
};

}  // namespace

result process(step version, std::span<const int> a, std::span<const int> b, std::size_t chunk) {
  const std::size_t n = a.size();
  refuse_if(b.size() != n, "two_streams: b should have ", n, " elements, not ", b.size());
  refuse_if(chunk < kGroup || chunk % kGroup > 0, "two_streams: ", chunk, " is no multiple of ",
            kGroup);
  if (n == 0) return {};
  const std::size_t room = std::min(chunk, n);

  int* memory = nullptr;
  CUDA_CHECK(cudaMallocHost(reinterpret_cast<void**>(&memory), 3 * n * sizeof(int)));
  const std::unique_ptr<int, host_free> host(memory);
  int *const host_a = memory, *const host_b = host_a + n, *const host_c = host_b + n;
  std::ranges::copy(a, host_a);
  std::ranges::copy(b, host_b);
  CUDA_CHECK(cudaMalloc(&memory, 4 * room * sizeof(int)));
  const std::unique_ptr<int, device_free> device(memory);
  const worker first(device.get(), room), second(device.get() + 2 * room, room);
  const event begun, done;

  event_timer timer;
  timer.start(first.queue);
  make_wait(second.queue, first.queue, begun);
  for (std::size_t i = 0, turn = 0; i < n; ++turn) {
    const std::size_t count = std::min(room, n - i);
    if (version == step::breadth_first) {
      const std::size_t j = i + count, next = std::min(room, n - j);
      first.copy(first.a, host_a + i, count);
      second.copy(second.a, host_a + j, next);
      first.copy(first.b, host_b + i, count);
      second.copy(second.b, host_b + j, next);
      first.calculate(count);
      second.calculate(next);
      first.copy(host_c + i, first.a, count);
      second.copy(host_c + j, second.a, next);
      i = j + next;
    } else {
      const worker& w = version == step::one_stream || turn % 2 == 0 ? first : second;
      w.copy(w.a, host_a + i, count);
      w.copy(w.b, host_b + i, count);
      w.calculate(count);
      w.copy(host_c + i, w.a, count);
      i += count;
    }
  }
  make_wait(first.queue, second.queue, done);
  timer.stop();
  CUDA_CHECK(cudaStreamSynchronize(first.queue));
  return {{host_c, host_c + n}, timer.milliseconds()};
}

}  // namespace lab::two_streams
