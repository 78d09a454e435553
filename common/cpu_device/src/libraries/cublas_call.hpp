// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What every call of cuBLAS does: look at its handle and its arguments, check the memory, and put
// the work on the handle's stream.
#pragma once

#include <cublas_v2.h>

#include <functional>
#include <limits>
#include <string>

#include "api/stream_queue.hpp"
#include "base/events.hpp"
#include "blas_kernels.hpp"
#include "context/device.hpp"
#include "library_calls.hpp"
#include "library_memory.hpp"

struct cublasContext {
  int device = 0;
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasAtomicsMode_t atomics_mode = CUBLAS_ATOMICS_NOT_ALLOWED;
  cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
};

namespace cpu_device::blas {

/// False for null, and for what is no handle or no longer one.
bool is_handle(cublasHandle_t handle);
/// Says why a call fails (stderr) and gives the status back.
cublasStatus_t explain_status(cublasStatus_t status, const std::string& sentence);

/// alpha, beta and the like: a value of the host, taken at the call, or one of the device, which is
/// read when the work runs.
template <class T>
class scalar {
 public:
  scalar() = default;
  scalar(T value, const T* place) : value_(value), place_(place) {}
  T get() const { return place_ != nullptr ? *place_ : value_; }

 private:
  T value_{};
  const T* place_ = nullptr;
};

/// One call of the library. The first thing that is wrong decides its status; what follows is then
/// skipped. Arguments first (their order is free), `ok()`, then memory, then run().
class routine {
 public:
  routine(cublasHandle_t handle);  // NOLINT: implicit

  routine& require(bool right, const char* what);
  routine& size(index value, const char* name);
  routine& increment(index value, const char* name);
  routine& leading(index value, index rows, const char* name, index cols = 0);
  routine& pointer(const void* p, const char* name);
  routine& is(cublasOperation_t op, const char* name);
  routine& is(cublasFillMode_t uplo);
  routine& is(cublasSideMode_t side);
  routine& is(cublasDiagType_t diag);

  bool ok() const { return status_ == CUBLAS_STATUS_SUCCESS; }
  cublasStatus_t status() const { return status_; }
  int device() const { return handle_->device; }
  const char* name() const { return name_; }

  /// The memory of a vector, of a matrix, of an array: usable by the device, and long enough.
  template <class T>
  routine& vector_memory(const char* argument, const T* p, index n, index inc) {
    return n <= 0 ? *this : memory(argument, p, (n - 1) * (inc < 0 ? -inc : inc) + 1, sizeof(T));
  }
  template <class T>
  routine& matrix_memory(const char* argument, const T* p, index rows, index cols, index ld) {
    if (rows <= 0 || cols <= 0) return *this;
    return memory(argument, p, (cols - 1) * ld + rows, sizeof(T), (rows - 1) * ld + cols);
  }
  template <class T>
  routine& array_memory(const char* argument, const T* p, index n) {
    return n <= 0 ? *this : memory(argument, p, n, sizeof(T));
  }

  template <class T>
  scalar<T> value(const char* argument, const T* p) {
    if (!ok()) return {};
    if (on_device()) {
      array_memory(argument, p, 1);
      return {T{}, p};
    }
    if (!readable_by_host(argument, p)) return {};
    return {*p, nullptr};
  }

  /// Work without a result for the host: the call does not wait for it.
  cublasStatus_t run(std::function<void()> work);
  /// Work with a result: by the host's pointer, the call waits; by the device's, it does not.
  template <class R, class Work>
  cublasStatus_t result(R* p, Work work) {
    if (!ok()) return status_;
    if (on_device()) {
      array_memory("result", p, 1);
      return run([p, work] { *p = work(); });
    }
    if (!readable_by_host("result", p)) return status_;
    return run_and_wait([p, work, stream = handle_->stream] {
      R found = work();  // on a GPU it is made in device memory, and copied
      if (listening(event_kind::copy))
        publish(
            event_kind::copy, &observer::copied,
            copy_event{p, &found, sizeof found, cudaMemcpyDeviceToHost, stream, {sizeof found}});
      *p = found;
    });
  }
  cublasStatus_t run_and_wait(std::function<void()> work);
  bool on_device() const { return handle_->pointer_mode == CUBLAS_POINTER_MODE_DEVICE; }
  /// Whether a product of floats may round them to TF32.
  bool allows_tf32() const {
    return (static_cast<int>(handle_->math_mode) & 15) == CUBLAS_TF32_TENSOR_OP_MATH;
  }

 private:
  /// `swapped`: the elements of a matrix with as many rows as this one has columns, and vice versa.
  routine& memory(const char* argument, const void* p, index elements, std::size_t bytes_each,
                  index swapped = 0);
  bool readable_by_host(const char* argument, const void* p);
  cublasStatus_t finish(cudaError_t status);

  cublasHandle_t handle_;
  const char* name_;
  cublasStatus_t status_ = CUBLAS_STATUS_SUCCESS;
};

inline bool transposes(cublasOperation_t op) { return op == CUBLAS_OP_T || op == CUBLAS_OP_C; }

/// op(A), for an A that is stored rows by columns.
template <class T>
matrix<T> viewed(T* a, index rows, index cols, index leading, cublasOperation_t op) {
  const matrix<T> view = stored(a, rows, cols, leading);
  return transposes(op) ? view.transposed() : view;
}

/// A triangle of A, seen through op: a transposed lower triangle is an upper one.
inline bool is_lower(cublasFillMode_t uplo, cublasOperation_t op = CUBLAS_OP_N) {
  return (uplo == CUBLAS_FILL_MODE_LOWER) != transposes(op);
}

}  // namespace cpu_device::blas
