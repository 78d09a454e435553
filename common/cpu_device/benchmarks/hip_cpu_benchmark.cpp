// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// HIP-CPU with the kernels of engine_benchmark.cu, under the same names: compare_hip_cpu.py runs
// both programs. A program of its own, since HIP-CPU keeps a thread that spins between launches.
// A wrong result ends its benchmark with an error in place of a time.

#include <benchmark/benchmark.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>

// The order matters: HIP's macros would disturb the standard headers behind them.
#include <hip/hip_runtime.h>
#include <hip/hip_runtime_api.h>

#include "engine_kernels.cuh"

namespace {

void check(hipError_t status) {
  if (status != hipSuccess) {
    std::fprintf(stderr, "HIP error %d\n", static_cast<int>(status));
    std::abort();
  }
}

/// Device memory, which is the host's here. Freed at the end of the benchmark.
template <class T>
class memory {
 public:
  memory(std::size_t n, T value) : size_(n) {
    check(hipMalloc(reinterpret_cast<void**>(&data_), n * sizeof(T)));
    std::fill_n(data_, n, value);
  }
  ~memory() { check(hipFree(data_)); }
  memory(const memory&) = delete;
  memory& operator=(const memory&) = delete;
  T* data() const { return data_; }
  bool all(T value) const {
    return std::all_of(data_, data_ + size_, [=](T x) { return x == value; });
  }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

void expect(benchmark::State& state, bool right) {
  if (!right) state.SkipWithError("HIP-CPU's result is wrong");
}

void Barrier(benchmark::State& state) {
  const int threads = static_cast<int>(state.range(0));
  for (auto _ : state) {
    hipLaunchKernelGGL(barriers, dim3(65536 / threads), dim3(threads), 0, nullptr, 100);
    check(hipDeviceSynchronize());
  }
}
BENCHMARK(Barrier)->Arg(32)->Arg(256)->Arg(1024)->MeasureProcessCPUTime()->UseRealTime()->Unit(
    benchmark::kMillisecond);

// HIP-CPU's shuffles take no mask, and the whole block meets twice in each.
__global__ void shuffles(float* out, int count) {
  float value = static_cast<float>(threadIdx.x);
  for (int i = 0; i < count; ++i) value += __shfl_xor(value, 1 + i % 31, 32);
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

void Shuffle(benchmark::State& state) {
  constexpr int kBlocks = 256, kThreads = 256, kShuffles = 100;
  const memory<float> out(kBlocks * kThreads, 0.0F);
  for (auto _ : state) {
    hipLaunchKernelGGL(shuffles, dim3(kBlocks), dim3(kThreads), 0, nullptr, out.data(), kShuffles);
    check(hipDeviceSynchronize());
  }
  float value[kThreads], next[kThreads];
  for (int t = 0; t < kThreads; ++t) value[t] = static_cast<float>(t);
  for (int i = 0; i < kShuffles; ++i) {
    for (int t = 0; t < kThreads; ++t) next[t] = value[t] + value[t ^ (1 + i % 31)];
    std::copy_n(next, kThreads, value);
  }
  expect(state, std::equal(value, value + kThreads, out.data()));
}
BENCHMARK(Shuffle)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);

void VectorAddKernel(benchmark::State& state) {
  const memory<float> a(kVector, 1), b(kVector, 2), c(kVector, 0);
  for (auto _ : state) {
    hipLaunchKernelGGL(add, dim3(kVector / 256), dim3(256), 0, nullptr,
                       static_cast<const float*>(a.data()), static_cast<const float*>(b.data()),
                       c.data(), kVector);
    check(hipDeviceSynchronize());
  }
  expect(state, c.all(3));
}
BENCHMARK(VectorAddKernel)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);

void JuliaKernel(benchmark::State& state) {
  const memory<int> out(std::size_t{kImage} * kImage, 0);
  for (auto _ : state) {
    hipLaunchKernelGGL(julia_kernel, dim3((kImage + 15) / 16, (kImage + 15) / 16), dim3(16, 16), 0,
                       nullptr, out.data());
    check(hipDeviceSynchronize());
  }
  bool right = true;
  for (int y = 0; y < kImage; ++y)
    for (int x = 0; x < kImage; ++x) right = right && out.data()[y * kImage + x] == julia(x, y);
  expect(state, right);
}
BENCHMARK(JuliaKernel)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);

void DotKernel(benchmark::State& state) {
  const memory<float> a(kDotBlocks * 256, 1), b(kDotBlocks * 256, 2), partial(kDotBlocks, 0);
  for (auto _ : state) {
    hipLaunchKernelGGL(dot, dim3(kDotBlocks), dim3(256), 0, nullptr,
                       static_cast<const float*>(a.data()), static_cast<const float*>(b.data()),
                       partial.data());
    check(hipDeviceSynchronize());
  }
  expect(state, partial.all(512));
}
BENCHMARK(DotKernel)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);

void TiledProductKernel(benchmark::State& state) {
  const memory<float> a(kN * kN, 1), b(kN * kN, 2), c(kN * kN, 0);
  for (auto _ : state) {
    hipLaunchKernelGGL(tiled, dim3(kN / 16, kN / 16), dim3(16, 16), 0, nullptr,
                       static_cast<const float*>(a.data()), static_cast<const float*>(b.data()),
                       c.data());
    check(hipDeviceSynchronize());
  }
  expect(state, c.all(2 * kN));
}
BENCHMARK(TiledProductKernel)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void TiledProductReadOnce(benchmark::State& state) {
  const memory<float> a(kN * kN, 1), b(kN * kN, 2), c(kN * kN, 0);
  for (auto _ : state) {
    hipLaunchKernelGGL(tiled_read_once, dim3(kN / 16, kN / 16), dim3(16, 16), 0, nullptr,
                       static_cast<const float*>(a.data()), static_cast<const float*>(b.data()),
                       c.data());
    check(hipDeviceSynchronize());
  }
  expect(state, c.all(2 * kN));
}
BENCHMARK(TiledProductReadOnce)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace

/// With HIP_CPU_THREADS threads, or one a core.
int main(int argc, char** argv) {
  const char* threads = std::getenv("HIP_CPU_THREADS");
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  threads != nullptr ? std::strtoul(threads, nullptr, 10)
                                                     : std::thread::hardware_concurrency());
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
