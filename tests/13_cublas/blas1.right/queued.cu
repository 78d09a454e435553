// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Copies, calls and results are queued in a stream, and the host waits once, at the end; memory
// comes from the pool of the device. If there are no elements, nothing is called.

#include <cublas_v2.h>

#include <memory>

#include "given.hpp"
#include "lab/cublas_handle.hpp"
#include "lab/pinned_buffer.hpp"
#include "lab/stream.hpp"

namespace lab::blas1 {
namespace {

struct free_in_stream {
  cudaStream_t stream = nullptr;
  void operator()(double* memory) const noexcept {
    CUDA_CHECK_NOTHROW(cudaFreeAsync(memory, stream));
  }
};
using pooled = std::unique_ptr<double, free_in_stream>;

/// A stream, and a handle that uses it.
class session {
 public:
  session() { CUBLAS_CHECK(cublasSetStream(handle_, stream_)); }
  operator cublasHandle_t() const { return handle_; }

  pooled memory(std::size_t n) const {
    double* made = nullptr;
    CUDA_CHECK(cudaMallocAsync(&made, n * sizeof(double), stream_));
    return pooled(made, {stream_});
  }
  pooled upload(std::span<const double> values) const {
    pooled to = memory(values.size());
    copy(to.get(), values.data(), values.size());
    return to;
  }
  void copy(double* to, const double* from, std::size_t n) const {
    CUDA_CHECK(cudaMemcpyAsync(to, from, n * sizeof(double), cudaMemcpyDefault, stream_));
  }
  void wait() const { CUDA_CHECK(cudaStreamSynchronize(stream_)); }

  /// How long the call takes in the stream.
  template <class Call>
  float timed(const Call& call) const {
    wait();  // for the way there, whose time does not count
    return time_kernel([&] {
      CUBLAS_CHECK(call());
      wait();
    });
  }

 private:
  stream stream_;
  cublas_handle handle_;
};

}  // namespace

vector_result copy(std::size_t n, strided x, strided y) {
  const int count = (checked(n, "x", x), checked(n, "y", y));
  vector_result out{{y.data.begin(), y.data.end()}};
  if (count == 0) return out;
  const session blas;
  const pooled from = blas.upload(x.data), to = blas.upload(y.data);
  out.kernel_ms = blas.timed(
      [&] { return cublasDcopy(blas, count, from.get(), x.increment, to.get(), y.increment); });
  blas.copy(out.data.data(), to.get(), y.data.size());
  blas.wait();
  return out;
}

vector_result scale(std::size_t n, double alpha, strided x) {
  const int count = checked(n, "x", x);
  vector_result out{{x.data.begin(), x.data.end()}};
  if (count == 0) return out;
  const session blas;
  const pooled data = blas.upload(x.data);
  out.kernel_ms = time_kernel(
      [&] {
        CUBLAS_CHECK(cublasDscal(blas, count, &alpha, data.get(), x.increment));
        blas.wait();
      },
      [&] {
        blas.copy(data.get(), x.data.data(), x.data.size());
        blas.wait();
      });
  blas.copy(out.data.data(), data.get(), x.data.size());
  blas.wait();
  return out;
}

scalar_result dot(step version, std::size_t n, strided x, strided y) {
  const int count = (checked(n, "x", x), checked(n, "y", y));
  if (count == 0) return {};
  const session blas;
  const pooled a = blas.upload(x.data), b = blas.upload(y.data), sum = blas.memory(1);
  scalar_result out;
  double* const to = version == step::host_result ? &out.value : sum.get();
  if (version == step::device_result)
    CUBLAS_CHECK(cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_DEVICE));
  out.kernel_ms = blas.timed(
      [&] { return cublasDdot(blas, count, a.get(), x.increment, b.get(), y.increment, to); });
  if (version == step::device_result) blas.copy(&out.value, sum.get(), 1);
  blas.wait();
  return out;
}

scalar_result norm(std::size_t n, strided x) {
  const int count = checked(n, "x", x);
  if (count == 0) return {};
  const session blas;
  const pooled data = blas.upload(x.data);
  pinned_buffer<double> length(1);
  const float ms =
      blas.timed([&] { return cublasDnrm2(blas, count, data.get(), x.increment, length.data()); });
  return {*length.data(), ms};
}

}  // namespace lab::blas1
