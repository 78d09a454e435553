// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A cuBLAS handle that destroys itself.
#pragma once

#include <cublas_v2.h>

#include <utility>

#include "lab/cublas_check.hpp"

namespace lab {

/// Owns a cuBLAS handle for the device that was current when it was made. Move-only; one that was
/// moved from owns nothing (get() is then null).
///
/// It can be used wherever cuBLAS takes a cublasHandle_t:
///
///     const lab::cublas_handle handle;
///     CUBLAS_CHECK(cublasSscal(handle, n, &alpha, x, 1));
///
/// Creating one takes long compared with a call: create it once, and use it for all calls.
class cublas_handle {
 public:
  cublas_handle() { CUBLAS_CHECK(cublasCreate(&handle_)); }
  cublas_handle(cublas_handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  cublas_handle& operator=(cublas_handle&& other) noexcept {
    if (this != &other) {
      release();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  cublas_handle(const cublas_handle&) = delete;
  cublas_handle& operator=(const cublas_handle&) = delete;
  ~cublas_handle() { release(); }

  cublasHandle_t get() const noexcept { return handle_; }
  operator cublasHandle_t() const noexcept { return handle_; }

 private:
  void release() noexcept {
    if (handle_ != nullptr) CUBLAS_CHECK_NOTHROW(cublasDestroy(handle_));
    handle_ = nullptr;
  }

  cublasHandle_t handle_ = nullptr;
};

}  // namespace lab
