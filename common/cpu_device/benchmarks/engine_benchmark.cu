// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// How fast the engine is, beside plain loops on the same number of threads in the same run.
// Each kernel's rate "per thread" (and "per thread and barrier") is time * workers / threads. The
// column "CPU" has the time of all threads together.

#include <benchmark/benchmark.h>
#include <cpu_device.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

#include "engine_kernels.cuh"

namespace {

void check(cudaError_t status) {
  if (status != cudaSuccess) {
    std::fprintf(stderr, "%s\n", cudaGetErrorString(status));
    std::abort();
  }
}

/// Device memory, freed at the end of the benchmark.
template <class T>
class memory {
 public:
  explicit memory(std::size_t n, T value) {
    const std::vector<T> host(n, value);
    check(cudaMalloc(&data_, n * sizeof(T)));
    check(cudaMemcpy(data_, host.data(), n * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~memory() { check(cudaFree(data_)); }
  memory(const memory&) = delete;
  memory& operator=(const memory&) = delete;
  T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

/// Splits [0, n) evenly over as many threads as the CPU device has workers.
void plain_parallel(std::size_t n, const std::function<void(std::size_t, std::size_t)>& body) {
  const std::size_t workers = cpu_device::worker_count();
  std::vector<std::thread> threads;
  for (std::size_t w = 1; w < workers; ++w)
    threads.emplace_back([&, w] { body(n * w / workers, n * (w + 1) / workers); });
  body(0, n / workers);
  for (std::thread& t : threads) t.join();
}

/// Worker time in nanoseconds for each of `items` in one iteration.
void per_item(benchmark::State& state, const char* name, double items) {
  // kInvert gives seconds an item; the benchmark library prints them with their prefix (n, p).
  state.counters[name] = benchmark::Counter(
      items / cpu_device::worker_count(),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

// --- a thread that does nothing -----------------------------------------------------------------

// Reads its index, so that the loop over the threads cannot be removed; no thread writes.
__global__ void nothing(int* out, unsigned wanted) {
  if (threadIdx.x == wanted) *out = 1;
}

void NoBarrierThread(benchmark::State& state) {
  constexpr int kBlocks = 65536, kThreads = 256;
  const memory<int> out(1, 0);
  for (auto _ : state) {
    nothing<<<kBlocks, kThreads>>>(out.data(), kThreads);
    check(cudaDeviceSynchronize());
  }
  per_item(state, "per_thread", double{kBlocks} * kThreads);
}
BENCHMARK(NoBarrierThread)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);

// --- barriers -----------------------------------------------------------------------------------

void Barrier(benchmark::State& state) {
  const int threads = static_cast<int>(state.range(0));
  const int blocks = 65536 / threads;
  constexpr int kBarriers = 100;
  for (auto _ : state) {
    barriers<<<blocks, threads>>>(kBarriers);
    check(cudaDeviceSynchronize());
  }
  per_item(state, "per_thread_and_barrier", double{kBarriers} * blocks * threads);
}
BENCHMARK(Barrier)->Arg(32)->Arg(256)->Arg(1024)->MeasureProcessCPUTime()->UseRealTime()->Unit(
    benchmark::kMillisecond);

// --- shuffles -----------------------------------------------------------------------------------

__global__ void shuffles(float* out, int count) {
  float value = static_cast<float>(threadIdx.x);
  for (int i = 0; i < count; ++i) value += __shfl_xor_sync(0xffffffffU, value, 1 + i % 31);
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

void Shuffle(benchmark::State& state) {
  constexpr int kBlocks = 256, kThreads = 256, kShuffles = 100;
  const memory<float> out(kBlocks * kThreads, 0.0F);
  for (auto _ : state) {
    shuffles<<<kBlocks, kThreads>>>(out.data(), kShuffles);
    check(cudaDeviceSynchronize());
  }
  per_item(state, "per_lane_and_shuffle", double{kShuffles} * kBlocks * kThreads);
}
BENCHMARK(Shuffle)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);

// --- vector add, 16 M ---------------------------------------------------------------------------

void VectorAddKernel(benchmark::State& state) {
  const memory<float> a(kVector, 1), b(kVector, 2), c(kVector, 0);
  for (auto _ : state) {
    add<<<kVector / 256, 256>>>(a.data(), b.data(), c.data(), kVector);
    check(cudaDeviceSynchronize());
  }
}
BENCHMARK(VectorAddKernel)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);

void VectorAddPlain(benchmark::State& state) {
  const memory<float> a(kVector, 1), b(kVector, 2), c(kVector, 0);
  const float *pa = a.data(), *pb = b.data();
  float* pc = c.data();
  for (auto _ : state)
    plain_parallel(kVector, [=](std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i) pc[i] = pa[i] + pb[i];
    });
}
BENCHMARK(VectorAddPlain)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);

// --- Julia set, 1000 x 1000 ---------------------------------------------------------------------

void JuliaKernel(benchmark::State& state) {
  const memory<int> out(std::size_t{kImage} * kImage, 0);
  const dim3 block(16, 16), grid((kImage + 15) / 16, (kImage + 15) / 16);
  for (auto _ : state) {
    julia_kernel<<<grid, block>>>(out.data());
    check(cudaDeviceSynchronize());
  }
}
BENCHMARK(JuliaKernel)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);

void JuliaPlain(benchmark::State& state) {
  const memory<int> out(std::size_t{kImage} * kImage, 0);
  int* const pixels = out.data();
  // Rows are dealt out in small pieces: their costs differ, and the engine balances, too.
  for (auto _ : state) {
    std::atomic<int> next_row{0};
    plain_parallel(cpu_device::worker_count(), [&](std::size_t, std::size_t) {
      for (int y = next_row.fetch_add(1); y < kImage; y = next_row.fetch_add(1))
        for (int x = 0; x < kImage; ++x) pixels[y * kImage + x] = julia(x, y);
    });
  }
}
BENCHMARK(JuliaPlain)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);

// --- shared-memory dot product, 4096 blocks of 256 ----------------------------------------------

void DotKernel(benchmark::State& state) {
  const memory<float> a(kDotBlocks * 256, 1), b(kDotBlocks * 256, 2), partial(kDotBlocks, 0);
  for (auto _ : state) {
    dot<<<kDotBlocks, 256>>>(a.data(), b.data(), partial.data());
    check(cudaDeviceSynchronize());
  }
  per_item(state, "per_thread_and_barrier", 9.0 * kDotBlocks * 256);
}
BENCHMARK(DotKernel)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);

void DotPlain(benchmark::State& state) {
  const memory<float> a(kDotBlocks * 256, 1), b(kDotBlocks * 256, 2), partial(kDotBlocks, 0);
  const float *pa = a.data(), *pb = b.data();
  float* out = partial.data();
  for (auto _ : state)
    plain_parallel(kDotBlocks, [=](std::size_t from, std::size_t to) {
      for (std::size_t block = from; block < to; ++block) {
        float sum = 0;
        for (std::size_t i = block * 256; i < (block + 1) * 256; ++i) sum += pa[i] * pb[i];
        out[block] = sum;
      }
    });
}
BENCHMARK(DotPlain)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);

// --- tiled matrix product, 512 x 512 ------------------------------------------------------------

void TiledProductKernel(benchmark::State& state) {
  const memory<float> a(kN * kN, 1), b(kN * kN, 2), c(kN * kN, 0);
  for (auto _ : state) {
    tiled<<<dim3(kN / 16, kN / 16), dim3(16, 16)>>>(a.data(), b.data(), c.data());
    check(cudaDeviceSynchronize());
  }
}
BENCHMARK(TiledProductKernel)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void TiledProductReadOnce(benchmark::State& state) {
  const memory<float> a(kN * kN, 1), b(kN * kN, 2), c(kN * kN, 0);
  for (auto _ : state) {
    tiled_read_once<<<dim3(kN / 16, kN / 16), dim3(16, 16)>>>(a.data(), b.data(), c.data());
    check(cudaDeviceSynchronize());
  }
}
BENCHMARK(TiledProductReadOnce)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void NaiveProductOneThread(benchmark::State& state) {
  const memory<float> a(kN * kN, 1), b(kN * kN, 2), c(kN * kN, 0);
  const float *pa = a.data(), *pb = b.data();
  float* pc = c.data();
  for (auto _ : state) {
    for (int i = 0; i < kN; ++i)
      for (int j = 0; j < kN; ++j) {
        float sum = 0;
        for (int k = 0; k < kN; ++k) sum += pa[i * kN + k] * pb[k * kN + j];
        pc[i * kN + j] = sum;
      }
    benchmark::ClobberMemory();
  }
}
BENCHMARK(NaiveProductOneThread)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
