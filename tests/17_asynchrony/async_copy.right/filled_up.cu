// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Both matrices are filled up with zeros to whole tiles in global memory, so all copies have 16
// bytes. Of 512 threads, half bring in the tile of A, and half that of B. A stream of its own.

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <memory>

#include "given.hpp"
#include "lab/stream.hpp"
#include "lab/timer.hpp"

namespace lab::async_copy {
namespace {

constexpr unsigned kAllThreads = 512;

struct give_back {
  cudaStream_t stream;
  void operator()(float* memory) const { CUDA_CHECK_NOTHROW(cudaFreeAsync(memory, stream)); }
};
using owner = std::unique_ptr<float, give_back>;

std::size_t whole_tiles(std::size_t n) { return (n + kTile - 1) / kTile * kTile; }

owner allocate(std::size_t n, cudaStream_t queue) {
  float* memory = nullptr;
  CUDA_CHECK(cudaMallocAsync(reinterpret_cast<void**>(&memory), n * sizeof(float), queue));
  return owner(memory, give_back{queue});
}

owner padded(std::span<const float> values, std::size_t rows, std::size_t columns,
             cudaStream_t queue) {
  const std::size_t pitch = whole_tiles(columns), n = pitch * whole_tiles(rows);
  owner memory = allocate(n == 0 ? 1 : n, queue);
  if (n == 0) return memory;
  CUDA_CHECK(cudaMemsetAsync(memory.get(), 0, n * sizeof(float), queue));
  CUDA_CHECK(cudaMemcpy2DAsync(memory.get(), pitch * sizeof(float), values.data(),
                               columns * sizeof(float), columns * sizeof(float), rows,
                               cudaMemcpyHostToDevice, queue));
  return memory;
}

struct job {
  const float *a, *b;
  std::size_t k, n;  // padded
};

/// The first 256 threads bring in the tile of A, the others that of B: 16 bytes each.
__device__ void piece_of_thread(const job& j, std::size_t first, tiles& t, float*& to,
                                const float*& from) {
  const unsigned i = threadIdx.x % 256, y = i / 8, x = i % 8 * 4;
  if (threadIdx.x < 256) {
    to = &t.a[y][x];
    from = j.a + (std::size_t{blockIdx.y} * kTile + y) * j.k + first + x;
  } else {
    to = &t.b[y][x];
    from = j.b + (first + y) * j.n + std::size_t{blockIdx.x} * kTile + x;
  }
}

/// Two neighbours in a row.
struct two_sums {
  float2 sum = make_float2(0, 0);
  unsigned y = threadIdx.x / 16, x = threadIdx.x % 16 * 2;
  __device__ void add(const tiles& t) {
    for (unsigned i = 0; i < kTile; ++i) {
      const float of_a = t.a[y][i];
      const float2 of_b = *reinterpret_cast<const float2*>(&t.b[i][x]);
      sum.x += of_a * of_b.x;
      sum.y += of_a * of_b.y;
    }
  }
  __device__ void put(float* c, shape size) const {
    const std::size_t row = std::size_t{blockIdx.y} * kTile + y;
    const std::size_t column = std::size_t{blockIdx.x} * kTile + x;
    if (row >= size.m || column >= size.n) return;
    c[row * size.n + column] = sum.x;
    if (column + 1 < size.n) c[row * size.n + column + 1] = sum.y;
  }
};

__global__ void __launch_bounds__(kAllThreads) by_registers(job j, float* c, shape size) {
  __shared__ tiles now;
  two_sums sums;
  for (std::size_t first = 0; first < j.k; first += kTile) {
    float* to = nullptr;
    const float* from = nullptr;
    piece_of_thread(j, first, now, to, from);
    const float4 four = *reinterpret_cast<const float4*>(from);
    __syncthreads();
    *reinterpret_cast<float4*>(to) = four;
    __syncthreads();
    sums.add(now);
  }
  sums.put(c, size);
}

/// A ring of any number of stages in dynamic shared memory. With one, copies are waited for at
/// once.
__global__ void __launch_bounds__(kAllThreads)
    by_copies(job j, float* c, shape size, unsigned stages) {
  extern __shared__ tiles stage[];
  two_sums sums;
  const auto start = [&](std::size_t first, unsigned s) {
    float* to = nullptr;
    const float* from = nullptr;
    piece_of_thread(j, first, stage[s], to, from);
    __pipeline_memcpy_async(to, from, 16);
    __pipeline_commit();
  };
  const auto wait_for_oldest = [&](std::size_t in_flight) {
    if (in_flight >= 3)
      __pipeline_wait_prior(2);
    else if (in_flight == 2)
      __pipeline_wait_prior(1);
    else
      __pipeline_wait_prior(0);
  };
  if (stages == 1) {
    for (std::size_t first = 0; first < j.k; first += kTile) {
      start(first, 0);
      __pipeline_wait_prior(0);
      __syncthreads();
      sums.add(stage[0]);
      __syncthreads();
    }
  } else {
    std::size_t started = 0, used = 0;
    const std::size_t slices = j.k / kTile;
    while (started < slices && started + 1 < stages) {
      start(started * kTile, static_cast<unsigned>(started));
      ++started;
    }
    for (; used < slices; ++used) {
      wait_for_oldest(started - used);
      __syncthreads();
      if (started < slices) {
        start(started * kTile, static_cast<unsigned>(started % stages));
        ++started;
      }
      sums.add(stage[used % stages]);
    }
  }
  sums.put(c, size);
}

}  // namespace

result multiply(step version, std::span<const float> a, std::span<const float> b, shape size,
                int stages) {
  check_input(a.size(), b.size(), size, stages);
  if (size.m == 0 || size.n == 0) return {};
  const dim3 grid = grid_for(size);
  result made;
  made.c.resize(size.m * size.n);
  const stream queue;
  const owner device_a = padded(a, size.m, size.k, queue),
              device_b = padded(b, size.k, size.n, queue);
  const owner c = allocate(made.c.size(), queue);
  const job j{device_a.get(), device_b.get(), whole_tiles(size.k), whole_tiles(size.n)};
  event_timer timer;
  timer.start(queue);
  if (version == step::waiting) {
    by_registers<<<grid, kAllThreads, 0, queue>>>(j, c.get(), size);
  } else {
    unsigned room = 1;
    if (version == step::two_stages) room = 2;
    if (version == step::stages) room = static_cast<unsigned>(stages);
    by_copies<<<grid, kAllThreads, room * sizeof(tiles), queue>>>(j, c.get(), size, room);
  }
  CUDA_CHECK(cudaGetLastError());
  timer.stop();
  CUDA_CHECK(cudaMemcpyAsync(made.c.data(), c.get(), made.c.size() * sizeof(float),
                             cudaMemcpyDeviceToHost, queue));
  made.kernel_ms = timer.milliseconds();
  CUDA_CHECK(cudaStreamSynchronize(queue));
  return made;
}

}  // namespace lab::async_copy
