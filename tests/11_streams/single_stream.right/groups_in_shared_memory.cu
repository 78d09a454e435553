// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A block has 64 threads, stages its group in shared memory, and goes on to another group where a
// chunk has more of them than the grid has blocks; the host waits for an event.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::single_stream {
namespace {

constexpr unsigned kThreads = 64;  // of a block, which takes one group after the other

struct pinned_free {
  void operator()(int* memory) const noexcept { CUDA_CHECK_NOTHROW(cudaFreeHost(memory)); }
};
using pinned_ints = std::unique_ptr<int[], pinned_free>;

pinned_ints allocate_pinned(std::size_t n) {
  int* memory = nullptr;
  CUDA_CHECK(cudaMallocHost(&memory, n * sizeof(int)));
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

__global__ void average(const int* a, const int* b, int* c, std::size_t count) {
  __shared__ int ring_a[kGroup], ring_b[kGroup];
  const std::size_t groups = (count + kGroup - 1) / kGroup;
  for (std::size_t g = blockIdx.x; g < groups; g += gridDim.x) {
    const std::size_t first = g * kGroup;
    const std::size_t left = count - first;
    const auto size = static_cast<unsigned>(left < kGroup ? left : kGroup);
    for (unsigned k = threadIdx.x; k < size; k += kThreads) {
      ring_a[k] = a[first + k];
      ring_b[k] = b[first + k];
    }
    __syncthreads();
    for (unsigned k = threadIdx.x; k < size; k += kThreads) {
      long long sum_a = 0, sum_b = 0;
      for (unsigned step = 0; step < 3; ++step) {
        sum_a += ring_a[(k + step) % size];
        sum_b += ring_b[(k + step) % size];
      }
      c[first + k] = static_cast<int>((sum_a / 3 + sum_b / 3) / 2);
    }
    __syncthreads();  // all have read: the next group may come
  }
}

void enqueue_chunk(cudaStream_t stream, const host_arrays& host, const device_arrays& device,
                   std::size_t first, std::size_t count) {
  const std::size_t bytes = count * sizeof(int);
  CUDA_CHECK(cudaMemcpyAsync(device.a, host.a + first, bytes, cudaMemcpyHostToDevice, stream));
  CUDA_CHECK(cudaMemcpyAsync(device.b, host.b + first, bytes, cudaMemcpyHostToDevice, stream));
  const auto blocks =
      static_cast<unsigned>(std::min<std::size_t>((count + kGroup - 1) / kGroup, 512));
  average<<<blocks, kThreads, 0, stream>>>(device.a, device.b, device.c, count);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaMemcpyAsync(host.c + first, device.c, bytes, cudaMemcpyDeviceToHost, stream));
}

void enqueue_all(cudaStream_t stream, const host_arrays& host, const device_arrays& device,
                 std::size_t n, std::size_t chunk) {
  for (std::size_t first = 0; first < n; first += chunk)
    enqueue_chunk(stream, host, device, first, std::min(chunk, n - first));
}

void finish(cudaStream_t stream) {
  cudaEvent_t done = nullptr;
  CUDA_CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  const cudaError_t recorded = cudaEventRecord(done, stream);
  const cudaError_t waited = recorded == cudaSuccess ? cudaEventSynchronize(done) : recorded;
  CUDA_CHECK_NOTHROW(cudaEventDestroy(done));
  CUDA_CHECK(waited);
}

}  // namespace

result process(std::span<const int> a, std::span<const int> b, std::size_t chunk) {
  return host_part_of_process<stream>(allocate_pinned, enqueue_all, finish, a, b, chunk);
}

}  // namespace lab::single_stream
