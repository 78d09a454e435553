// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// An array in pinned host memory that frees itself.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"
#include "lab/new_memory.hpp"

namespace lab {

/// Owns `n` elements of host memory that stays where it is, so that devices can copy from and to it
/// on their own. Move-only; n = 0 is legal and owns nothing (data() is then null).
///
/// New memory is filled with 0xFF bytes, as a device_buffer is.
template <class T>
class pinned_buffer {
  static_assert(std::is_trivially_copyable_v<T>, "what a device copies are bytes");
  static_assert(!std::is_const_v<T>, "the buffer must be writable; pass data() on as const T*");

 public:
  pinned_buffer() = default;

  /// `flags` are those of cudaHostAlloc.
  explicit pinned_buffer(std::size_t n, unsigned flags = cudaHostAllocDefault) {
    if (n > std::numeric_limits<std::size_t>::max() / sizeof(T))
      throw invalid_input("a pinned_buffer of " + std::to_string(n) + " elements of " +
                          std::to_string(sizeof(T)) + " bytes is larger than any memory");
    if (n == 0) return;
    void* memory = nullptr;
    CUDA_CHECK(cudaHostAlloc(&memory, n * sizeof(T), flags));
    std::memset(memory, detail::new_memory_byte, n * sizeof(T));
    data_ = static_cast<T*>(memory);
    size_ = n;
  }

  pinned_buffer(pinned_buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  pinned_buffer& operator=(pinned_buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  pinned_buffer(const pinned_buffer&) = delete;
  pinned_buffer& operator=(const pinned_buffer&) = delete;
  ~pinned_buffer() {
    if (data_ != nullptr) CUDA_CHECK_NOTHROW(cudaFreeHost(data_));
  }

  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
  bool empty() const noexcept { return size_ == 0; }

  std::span<T> span() noexcept { return {data_, size_}; }
  std::span<const T> span() const noexcept { return {data_, size_}; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace lab
