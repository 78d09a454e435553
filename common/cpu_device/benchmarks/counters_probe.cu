// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Small kernels whose memory traffic is known, to compare the CPU device's counters with those of
// a GPU (ncu). Sizes and data are fixed; the same file is compiled by nvcc.
// compare_counters.py, beside this file, says how.

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kCopied = 1U << 16;  // elements that each strided copy writes
constexpr unsigned kSide = 256;         // of the matrix that is transposed
constexpr unsigned kBins = 64;
constexpr unsigned kCounted = 1U << 16;

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

template <class T>
T* on_device(const std::vector<T>& host) {
  T* memory = nullptr;
  check(cudaMalloc(&memory, host.size() * sizeof(T)), "cudaMalloc");
  check(cudaMemcpy(memory, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice), "copy");
  return memory;
}

template <class T>
std::vector<T> on_host(const T* memory, std::size_t n) {
  std::vector<T> host(n);
  check(cudaMemcpy(host.data(), memory, n * sizeof(T), cudaMemcpyDeviceToHost), "copy back");
  return host;
}

void expect(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "%s computed a wrong result\n", what);
  std::exit(1);
}

template <unsigned kStride>
__global__ void strided_copy(const float* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i * kStride];
}

__global__ void offset_copy(const float* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i + 1];
}

__global__ void vector_copy(const float4* in, float4* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i];
}

__global__ void every_second_lane(const float* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i % 2 == 0) out[i] = in[i];
}

__global__ void transpose_naive(const float* in, float* out) {
  const unsigned x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  out[x * kSide + y] = in[y * kSide + x];
}

template <unsigned kWidth>
__global__ void transpose_tiled(const float* in, float* out) {
  __shared__ float tile[32][kWidth];
  const unsigned x = threadIdx.x, y = threadIdx.y;
  tile[y][x] = in[(blockIdx.y * 32 + y) * kSide + blockIdx.x * 32 + x];
  __syncthreads();
  out[(blockIdx.x * 32 + y) * kSide + blockIdx.y * 32 + x] = tile[x][y];
}

/// Shared loads of 4, 8 and 16 bytes, kStride elements apart.
template <class T, unsigned kStride>
__global__ void shared_stride(const T* in, T* out) {
  __shared__ T cache[kThreads];
  cache[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = cache[threadIdx.x * kStride % kThreads];
}

__global__ void histogram_global(const unsigned char* bytes, unsigned* count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&count[bytes[i] % kBins], 1U);
}

__global__ void histogram_shared(const unsigned char* bytes, unsigned* count) {
  __shared__ unsigned mine[kBins];
  if (threadIdx.x < kBins) mine[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&mine[bytes[blockIdx.x * blockDim.x + threadIdx.x] % kBins], 1U);
  __syncthreads();
  if (threadIdx.x < kBins) atomicAdd(&count[threadIdx.x], mine[threadIdx.x]);
}

void copies() {
  std::vector<float> values(kCopied * 32);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  float* in = on_device(values);
  float* out = on_device(std::vector<float>(kCopied, -1.0F));
  strided_copy<1><<<kCopied / kThreads, kThreads>>>(in, out);
  strided_copy<2><<<kCopied / kThreads, kThreads>>>(in, out);
  strided_copy<4><<<kCopied / kThreads, kThreads>>>(in, out);
  strided_copy<8><<<kCopied / kThreads, kThreads>>>(in, out);
  strided_copy<16><<<kCopied / kThreads, kThreads>>>(in, out);
  strided_copy<32><<<kCopied / kThreads, kThreads>>>(in, out);
  expect(on_host(out, kCopied)[kCopied - 1] == values[(kCopied - 1) * 32], "strided_copy");
  offset_copy<<<kCopied / kThreads, kThreads>>>(in, out);
  expect(on_host(out, kCopied)[kCopied - 1] == values[kCopied], "offset_copy");
  vector_copy<<<kCopied / kThreads / 4, kThreads>>>(reinterpret_cast<const float4*>(in),
                                                    reinterpret_cast<float4*>(out));
  every_second_lane<<<kCopied / kThreads, kThreads>>>(in, out);
  expect(on_host(out, kCopied)[kCopied - 1] == values[kCopied - 1], "vector_copy");
  check(cudaFree(in), "cudaFree");
  check(cudaFree(out), "cudaFree");
}

void transpositions() {
  std::vector<float> values(kSide * kSide);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  float* in = on_device(values);
  float* out = on_device(std::vector<float>(kSide * kSide, -1.0F));
  const dim3 grid(kSide / 32, kSide / 32), block(32, 32);
  const auto expect_transposed = [&](const char* what) {
    const std::vector<float> result = on_host(out, kSide * kSide);
    expect(result[kSide * 3 + 7] == values[kSide * 7 + 3], what);
  };
  transpose_naive<<<grid, block>>>(in, out);
  expect_transposed("transpose_naive");
  transpose_tiled<32><<<grid, block>>>(in, out);
  expect_transposed("transpose_tiled<32>");
  transpose_tiled<33><<<grid, block>>>(in, out);
  expect_transposed("transpose_tiled<33>");
  check(cudaFree(in), "cudaFree");
  check(cudaFree(out), "cudaFree");
}

template <class T, class Launch>
void with_shared_stride(Launch launch) {
  T* in = on_device(std::vector<T>(kThreads, T{}));
  T* out = on_device(std::vector<T>(kThreads, T{}));
  launch(in, out);
  check(cudaGetLastError(), "shared_stride");
  check(cudaFree(in), "cudaFree");
  check(cudaFree(out), "cudaFree");
}

// Each instance is launched by its own name: that is what the CPU device knows a kernel by.
void shared_strides() {
  with_shared_stride<float>([](const float* in, float* out) {
    shared_stride<float, 1><<<1, kThreads>>>(in, out);
    shared_stride<float, 2><<<1, kThreads>>>(in, out);
    shared_stride<float, 32><<<1, kThreads>>>(in, out);
  });
  with_shared_stride<double>([](const double* in, double* out) {
    shared_stride<double, 1><<<1, kThreads>>>(in, out);
    shared_stride<double, 2><<<1, kThreads>>>(in, out);
    shared_stride<double, 16><<<1, kThreads>>>(in, out);
  });
  with_shared_stride<float4>([](const float4* in, float4* out) {
    shared_stride<float4, 1><<<1, kThreads>>>(in, out);
    shared_stride<float4, 2><<<1, kThreads>>>(in, out);
  });
}

void histograms() {
  std::vector<unsigned char> bytes(kCounted);
  unsigned state = 1;
  for (unsigned char& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<unsigned char>(state >> 24);
  }
  unsigned char* in = on_device(bytes);
  unsigned* count = on_device(std::vector<unsigned>(kBins, 0U));
  histogram_global<<<kCounted / kThreads, kThreads>>>(in, count);
  histogram_shared<<<kCounted / kThreads, kThreads>>>(in, count);
  unsigned sum = 0;
  for (const unsigned n : on_host(count, kBins)) sum += n;
  expect(sum == 2 * kCounted, "histogram");
  check(cudaFree(in), "cudaFree");
  check(cudaFree(count), "cudaFree");
}

}  // namespace

int main() {
  copies();
  transpositions();
  shared_strides();
  histograms();
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  std::printf("counters_probe: all results are right\n");
}
