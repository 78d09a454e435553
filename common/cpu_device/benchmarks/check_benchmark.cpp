// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the check build costs: the same kernels compiled both ways, in one run.

#include <benchmark/benchmark.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

struct check_operands {
  float *a, *b, *c;
};

#define CPU_DEVICE_DECLARE(NAME)    \
  void NAME##_fast(check_operands); \
  void NAME##_watched(check_operands)
CPU_DEVICE_DECLARE(tiled);
CPU_DEVICE_DECLARE(add);
CPU_DEVICE_DECLARE(dot);
CPU_DEVICE_DECLARE(histogram);

namespace {

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(status));
  std::abort();
}

void run(benchmark::State& state, void (*kernel)(check_operands)) {
  constexpr std::size_t kBytes = std::size_t{512} * 512 * sizeof(float);
  check_operands m{};
  for (float** p : {&m.a, &m.b, &m.c}) {
    check(cudaMalloc(p, kBytes));
    check(cudaMemset(*p, 0, kBytes));
  }
  for (auto _ : state) {
    kernel(m);
    check(cudaDeviceSynchronize());
  }
  for (float* p : {m.a, m.b, m.c}) check(cudaFree(p));
}

#define CPU_DEVICE_BOTH_WAYS(NAME)                                                                \
  BENCHMARK_CAPTURE(run, NAME##_fast, NAME##_fast)->UseRealTime()->Unit(benchmark::kMillisecond); \
  BENCHMARK_CAPTURE(run, NAME##_watched, NAME##_watched)                                          \
      ->UseRealTime()                                                                             \
      ->Unit(benchmark::kMillisecond)
CPU_DEVICE_BOTH_WAYS(tiled);
CPU_DEVICE_BOTH_WAYS(add);
CPU_DEVICE_BOTH_WAYS(dot);
CPU_DEVICE_BOTH_WAYS(histogram);

}  // namespace

BENCHMARK_MAIN();
