// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The matrix is in memory from cudaMallocPitch; copies, from pinned memory, and cuBLAS use a
// stream, and events measure the time.

#include <cublas_v2.h>

#include <algorithm>
#include <memory>

#include "given.hpp"
#include "lab/pinned_buffer.hpp"
#include "lab/stream.hpp"

namespace lab::gemv {
namespace {

struct device_free {
  void operator()(void* memory) const noexcept { CUDA_CHECK_NOTHROW(cudaFree(memory)); }
};

class stopwatch {
 public:
  explicit stopwatch(cudaStream_t queue) : queue_(queue) {
    CUDA_CHECK(cudaEventCreate(&begin_));
    if (const cudaError_t status = cudaEventCreate(&end_); status != cudaSuccess) {
      CUDA_CHECK_NOTHROW(cudaEventDestroy(begin_));
      CUDA_CHECK(status);
    }
  }
  ~stopwatch() {
    CUDA_CHECK_NOTHROW(cudaEventDestroy(begin_));
    CUDA_CHECK_NOTHROW(cudaEventDestroy(end_));
  }
  stopwatch(const stopwatch&) = delete;
  stopwatch& operator=(const stopwatch&) = delete;
  void start() const { CUDA_CHECK(cudaEventRecord(begin_, queue_)); }
  void stop() const { CUDA_CHECK(cudaEventRecord(end_, queue_)); }
  float milliseconds() const {
    float ms = 0;
    CUDA_CHECK(cudaEventSynchronize(end_));
    CUDA_CHECK(cudaEventElapsedTime(&ms, begin_, end_));
    return ms;
  }

 private:
  cudaStream_t queue_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace

result multiply(step version, float alpha, row_major a, std::span<const float> x, float beta,
                std::span<const float> y) {
  const device_matrix matrix = checked(a);
  const bool transposed = version == step::transposed;
  require_length("x", x.size(), transposed ? a.rows : a.cols);
  require_length("y", y.size(), transposed ? a.cols : a.rows);
  result out{{y.begin(), y.end()}};
  if (a.rows == 0 || a.cols == 0) {
    std::ranges::for_each(out.y, [=](float& old) { old = beta == 0 ? 0 : beta * old; });
    return out;
  }

  float* memory = nullptr;
  std::size_t pitch = 0;
  const std::size_t row = a.cols * sizeof(float);
  CUDA_CHECK(cudaMallocPitch(&memory, &pitch, row, a.rows));
  const std::unique_ptr<float, device_free> owner(memory);
  device_buffer<float> device_x(x.size()), device_y(y.size());
  pinned_buffer<float> host_x(x.size()), host_y(y.size());
  std::ranges::copy(x, host_x.data());
  std::ranges::copy(y, host_y.data());

  const cublas_handle handle;
  const stream queue;
  const stopwatch watch(queue);
  CUBLAS_CHECK(cublasSetStream(handle, queue));
  CUDA_CHECK(cudaMemcpy2DAsync(memory, pitch, a.data.data(), a.pitch * sizeof(float), row, a.rows,
                               cudaMemcpyHostToDevice, queue));
  CUDA_CHECK(cudaMemcpyAsync(device_x.data(), host_x.data(), x.size_bytes(), cudaMemcpyHostToDevice,
                             queue));
  CUDA_CHECK(cudaMemcpyAsync(device_y.data(), host_y.data(), y.size_bytes(), cudaMemcpyHostToDevice,
                             queue));
  watch.start();
  CUBLAS_CHECK(cublasSgemv(handle, transposed ? CUBLAS_OP_N : CUBLAS_OP_T, matrix.cols, matrix.rows,
                           &alpha, memory, static_cast<int>(pitch / sizeof(float)), device_x.data(),
                           1, &beta, device_y.data(), 1));
  watch.stop();
  CUDA_CHECK(cudaMemcpyAsync(host_y.data(), device_y.data(), y.size_bytes(), cudaMemcpyDeviceToHost,
                             queue));
  CUDA_CHECK(cudaStreamSynchronize(queue));
  out.y.assign(host_y.data(), host_y.data() + y.size());
  out.kernel_ms = watch.milliseconds();
  return out;
}

}  // namespace lab::gemv
