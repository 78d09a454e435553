// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A thread has two elements, b is copied before a, the runtime finds out in which direction, and
// the host asks again and again whether the stream is done.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::single_stream {
namespace {

constexpr unsigned kThreads = 128;  // of a block

struct pinned_free {
  void operator()(int* memory) const noexcept { CUDA_CHECK_NOTHROW(cudaFreeHost(memory)); }
};
using pinned_ints = std::unique_ptr<int[], pinned_free>;

pinned_ints allocate_pinned(std::size_t n) {
  int* memory = nullptr;
  CUDA_CHECK(cudaHostAlloc(&memory, n * sizeof(int), cudaHostAllocDefault));
  return pinned_ints(memory);
}

class stream {
 public:
  stream() { CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~stream() {
    CUDA_CHECK_NOTHROW(cudaStreamSynchronize(stream_));
    CUDA_CHECK_NOTHROW(cudaStreamDestroy(stream_));
  }
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;

  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

__device__ int mean_of_three(const int* values, std::size_t count, std::size_t i) {
  const std::size_t begin = i / kGroup * kGroup;
  const std::size_t end = count - begin < kGroup ? count : begin + kGroup;
  std::size_t j = i;
  long long sum = 0;
  for (int k = 0; k < 3; ++k) {
    sum += values[j];
    if (++j == end) j = begin;
  }
  return static_cast<int>(sum / 3);
}

__global__ void average(const int* a, const int* b, int* c, std::size_t count) {
  const std::size_t first = std::size_t{blockIdx.x} * 2 * kThreads + threadIdx.x;
  for (std::size_t i = first; i < count && i <= first + kThreads; i += kThreads) {
    const long long both =
        static_cast<long long>(mean_of_three(a, count, i)) + mean_of_three(b, count, i);
    c[i] = static_cast<int>(both / 2);
  }
}

void enqueue_chunk(cudaStream_t stream, const host_arrays& host, const device_arrays& device,
                   std::size_t first, std::size_t count) {
  const std::size_t bytes = count * sizeof(int);
  CUDA_CHECK(cudaMemcpyAsync(device.b, host.b + first, bytes, cudaMemcpyDefault, stream));
  CUDA_CHECK(cudaMemcpyAsync(device.a, host.a + first, bytes, cudaMemcpyDefault, stream));
  const auto blocks = static_cast<unsigned>((count + 2 * kThreads - 1) / (2 * kThreads));
  average<<<blocks, kThreads, 0, stream>>>(device.a, device.b, device.c, count);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaMemcpyAsync(host.c + first, device.c, bytes, cudaMemcpyDeviceToHost, stream));
}

void enqueue_all(cudaStream_t stream, const host_arrays& host, const device_arrays& device,
                 std::size_t n, std::size_t chunk) {
  const std::size_t whole = n / chunk, rest = n % chunk;
  for (std::size_t k = 0; k < whole; ++k) enqueue_chunk(stream, host, device, k * chunk, chunk);
  if (rest != 0) enqueue_chunk(stream, host, device, whole * chunk, rest);
}

void finish(cudaStream_t stream) {
  cudaError_t state = cudaErrorNotReady;
  while ((state = cudaStreamQuery(stream)) == cudaErrorNotReady) {
  }
  CUDA_CHECK(state);
}

}  // namespace

result process(std::span<const int> a, std::span<const int> b, std::size_t chunk) {
  return host_part_of_process<stream>(allocate_pinned, enqueue_all, finish, a, b, chunk);
}

}  // namespace lab::single_stream
