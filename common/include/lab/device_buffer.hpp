// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// An array in device memory that frees itself.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"
#include "lab/new_memory.hpp"

namespace lab {

/// Owns `n` elements of device memory on the device that was current when it was made.
/// Move-only; n = 0 is legal and owns nothing (data() is then null).
///
/// New memory is filled with 0xFF bytes (NaN for floats, -1 for ints), so that an element that no
/// thread wrote is never plausible. Do not rely on it: tests fill it with other bytes, too.
template <class T>
class device_buffer {
  static_assert(std::is_trivially_copyable_v<T>, "device memory is copied as bytes");
  static_assert(!std::is_const_v<T>, "the buffer must be writable; pass data() on as const T*");

 public:
  device_buffer() = default;

  explicit device_buffer(std::size_t n) : device_buffer(allocate_only{}, n) {
    if (n == 0) return;
    CUDA_CHECK(cudaMemset(data_, detail::new_memory_byte, size_bytes()));
    // The fill is asynchronous, and a stream made with cudaStreamNonBlocking would not wait for it.
    CUDA_CHECK(cudaStreamSynchronize(nullptr));
  }

  /// As long as `values`, and holding a copy of them.
  explicit device_buffer(std::span<const T> values)
      : device_buffer(allocate_only{}, values.size()) {
    copy_from(values);
  }

  device_buffer(device_buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  device_buffer& operator=(device_buffer&& other) noexcept {
    if (this != &other) {
      release();
      data_ = std::exchange(other.data_, nullptr);
      size_ = std::exchange(other.size_, 0);
    }
    return *this;
  }
  device_buffer(const device_buffer&) = delete;
  device_buffer& operator=(const device_buffer&) = delete;
  ~device_buffer() { release(); }

  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
  bool empty() const noexcept { return size_ == 0; }

  /// Copies host values up; as many as the buffer has elements, else throws invalid_input.
  void copy_from(std::span<const T> values) {
    require_same_size("copy_from", values.size());
    if (size_ == 0) return;
    CUDA_CHECK(cudaMemcpy(data_, values.data(), size_bytes(), cudaMemcpyHostToDevice));
    // A small copy may still be in flight, from the driver's own memory: later work of the default
    // stream waits for it, work of a stream made with cudaStreamNonBlocking does not.
    CUDA_CHECK(cudaStreamSynchronize(nullptr));
  }

  /// Copies all elements down, after the work that was queued on the default stream; `values`
  /// must be as long as the buffer, else throws invalid_input.
  void copy_to(std::span<T> values) const {
    require_same_size("copy_to", values.size());
    if (size_ != 0)
      CUDA_CHECK(cudaMemcpy(values.data(), data_, size_bytes(), cudaMemcpyDeviceToHost));
  }

  std::vector<T> to_vector() const {
    std::vector<T> values(size_);
    copy_to(values);
    return values;
  }

 private:
  struct allocate_only {};

  // Delegated to by the public constructors: once it is done, the destructor runs even when the
  // rest of a constructor throws.
  device_buffer(allocate_only, std::size_t n) {
    if (n > std::numeric_limits<std::size_t>::max() / sizeof(T))
      throw invalid_input("a device_buffer of " + std::to_string(n) + " elements of " +
                          std::to_string(sizeof(T)) + " bytes is larger than any memory");
    if (n == 0) return;
    void* memory = nullptr;
    CUDA_CHECK(cudaMalloc(&memory, n * sizeof(T)));
    data_ = static_cast<T*>(memory);
    size_ = n;
  }

  void release() noexcept {
    if (data_ != nullptr) CUDA_CHECK_NOTHROW(cudaFree(data_));
    data_ = nullptr;
    size_ = 0;
  }

  void require_same_size(const char* what, std::size_t n) const {
    if (n != size_)
      throw invalid_input(std::string("device_buffer::") + what + ": the host side has " +
                          std::to_string(n) + " elements, the buffer " + std::to_string(size_));
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace lab
