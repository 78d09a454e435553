// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Programs for trace_test.py to trace:  trace_program TASK.

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nvtx3/nvtx3.hpp>
#include <stdexcept>
#include <thread>

namespace {

constexpr unsigned kThreads = 64;

__global__ void reverse(int* data) {
  extern __shared__ int tile[];
  int* mine = data + blockIdx.x * blockDim.x;
  tile[threadIdx.x] = mine[threadIdx.x];
  __syncthreads();
  mine[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

__global__ void first(int* data) { data[0] += 1; }
__global__ void second(int* data) { data[1] += 1; }
__global__ void follow(const int* data) { const_cast<int*>(data)[1 << 28] = 1; }

void launch(int* data, cudaStream_t stream = nullptr) {
  reverse<<<4, kThreads, kThreads * sizeof(int), stream>>>(data);
}

/// 1 kernel, 3 copies, 1 memset, marks.
void one_of_each(int* data) {
  int host[8] = {};
  nvtxRangePushA("outer \"range\"\n\xff");
  nvtxRangePushW(L"inner \u00e9\U0001F600");
  cudaMemset(data, 0, 1024);
  cudaMemcpy(data, host, 32, cudaMemcpyHostToDevice);
  launch(data);
  nvtxRangePop();
  const nvtxRangeId_t id = nvtxRangeStartA("across");
  cudaMemcpy(data + 64, data, 64, cudaMemcpyDeviceToDevice);
  nvtxMarkA("point");
  nvtxRangePop();
  cudaMemcpy(host, data, 16, cudaMemcpyDeviceToHost);
  nvtxRangeEnd(id);
}

void two_streams(int* data) {
  cudaStream_t a = nullptr, b = nullptr;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  nvtxNameCudaStreamA(a, "stream A");
  nvtxNameCudaStreamA(b, "stream B");
  for (int i = 0; i < 3; ++i) first<<<1, 1, 0, a>>>(data);
  for (int i = 0; i < 3; ++i) second<<<1, 1, 0, b>>>(data);
  nvtxMarkA("all submitted");
  cudaStreamSynchronize(b);
  cudaStreamSynchronize(a);
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
}

void graph(int* data) {
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  first<<<1, 1, 0, stream>>>(data);
  cudaMemsetAsync(data, 0, 8, stream);
  second<<<1, 1, 0, stream>>>(data);
  cudaGraph_t made = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaStreamEndCapture(stream, &made);
  cudaGraphInstantiate(&exec, made);
  cudaGraphLaunch(exec, nullptr);
  cudaDeviceSynchronize();
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(made);
  cudaStreamDestroy(stream);
}

void dot(int* data) {
  cublasHandle_t blas = nullptr;
  cublasCreate(&blas);
  float result = 0;
  auto* x = reinterpret_cast<float*>(data);
  cublasSdot(blas, 8, x, 1, x, 1, &result);
  cublasDestroy(blas);
}

}  // namespace

int main(int argc, char** argv) {
  const char* task = argc == 2 ? argv[1] : "";
  const auto is = [&](const char* name) { return std::strcmp(task, name) == 0; };
  if (is("forks") && fork() != 0) _exit(0);
  int* data = nullptr;
  if (cudaMalloc(&data, 4096) != cudaSuccess) return 1;
  cudaMemset(data, 0, 4096);
  if (is("each")) one_of_each(data);
  if (is("streams")) two_streams(data);
  if (is("graph")) graph(data);
  if (is("dot")) dot(data);
  if (is("blocks")) launch(data);
  if (is("failing_call")) cudaMemcpy(data, nullptr, 4, cudaMemcpyHostToDevice);
  if (is("threads")) {
    std::thread other([data] {
      nvtxNameOsThreadA(static_cast<unsigned>(gettid()), "the second thread");
      const nvtx3::scoped_range range("of the second thread");
      launch(data);
    });
    other.join();
    cudaDeviceSynchronize();
  }
  if (is("many"))
    for (int i = 0; i < 260'000; ++i) {
      nvtxRangePushA("i");
      nvtxRangePop();
      nvtxMarkA("m");
    }
  // Ends that are none, each within a range.
  nvtxRangePushA("never ends");
  launch(data);
  if (is("exit")) std::exit(3);
  if (is("quick_exit")) _exit(4);
  if (is("throw")) throw std::runtime_error("on purpose");
  if (is("kernel_fault")) {
    follow<<<1, 1>>>(data);
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 5;
  }
  if (is("host_fault")) *static_cast<volatile int*>(nullptr) = 1;
  if (is("forked_later") && fork() == 0) nvtxMarkA("of the child");
  nvtxRangePop();
  cudaFree(data);
}
