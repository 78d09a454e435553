// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Input that ends where the host's memory ends: a contract that reads beyond the end of a span
// crashes, where it would otherwise read what happens to follow.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <span>
#include <type_traits>

namespace lab::testing {

/// A copy of values in host memory. The addresses right after the last one have no memory, for
/// 256 KiB at least.
template <class T>
class fenced_copy {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit fenced_copy(std::span<const T> values)
      : inside_((values.size_bytes() + kUnit - 1) / kUnit * kUnit), size_(values.size()) {
    memory_ =
        mmap(nullptr, inside_ + kUnit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
    std::copy(values.begin(), values.end(), end() - size_);
    if (mprotect(end(), kUnit, PROT_NONE) != 0) {
      munmap(memory_, inside_ + kUnit);
      throw std::bad_alloc();
    }
  }
  fenced_copy(const fenced_copy&) = delete;
  fenced_copy& operator=(const fenced_copy&) = delete;
  ~fenced_copy() { munmap(memory_, inside_ + kUnit); }

  std::span<const T> span() const { return {end() - size_, size_}; }

 private:
  static constexpr std::size_t kUnit = std::size_t{1} << 18;  // a multiple of every page

  T* end() const { return reinterpret_cast<T*>(static_cast<std::byte*>(memory_) + inside_); }

  std::size_t inside_, size_;
  void* memory_ = nullptr;
};

}  // namespace lab::testing
