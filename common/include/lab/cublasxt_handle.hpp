// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A cuBLAS-Xt handle that destroys itself.
#pragma once

#include <cublasXt.h>

#include <utility>

#include "lab/cublas_check.hpp"

namespace lab {

/// Owns a cuBLAS-Xt handle. Move-only; one that was moved from owns nothing (get() is then null).
///
/// It can be used wherever the library takes a cublasXtHandle_t. Select its devices first:
///
///     const lab::cublasxt_handle handle;
///     CUBLAS_CHECK(cublasXtDeviceSelect(handle, count, devices));
class cublasxt_handle {
 public:
  cublasxt_handle() { CUBLAS_CHECK(cublasXtCreate(&handle_)); }
  cublasxt_handle(cublasxt_handle&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)) {}
  cublasxt_handle& operator=(cublasxt_handle&& other) noexcept {
    if (this != &other) {
      release();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  cublasxt_handle(const cublasxt_handle&) = delete;
  cublasxt_handle& operator=(const cublasxt_handle&) = delete;
  ~cublasxt_handle() { release(); }

  cublasXtHandle_t get() const noexcept { return handle_; }
  operator cublasXtHandle_t() const noexcept { return handle_; }

 private:
  void release() noexcept {
    if (handle_ != nullptr) CUBLAS_CHECK_NOTHROW(cublasXtDestroy(handle_));
    handle_ = nullptr;
  }

  cublasXtHandle_t handle_ = nullptr;
};

}  // namespace lab
