// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// `__device__` and `__constant__` variables, of which each device has its own values. The rewriter
// writes one device_variable after each of them.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

namespace cpu_device {

/// Makes a variable known, or known once more (as each file does with an inline one). Its values
/// are now those that every device begins with.
void note_variable(volatile void* variable, std::size_t bytes);
/// A shared library that is unloaded takes its variables with it.
void forget_variable(volatile void* variable);

class device_variable {
 public:
  template <class T>
  explicit device_variable(T& variable) {
    // A const variable has one value forever, and may be in read-only memory.
    if constexpr (!std::is_const_v<T>) {
      variable_ = std::addressof(variable);
      note_variable(variable_, sizeof(T));
    }
  }
  ~device_variable() {
    if (variable_ != nullptr) forget_variable(variable_);
  }
  device_variable(const device_variable&) = delete;
  device_variable& operator=(const device_variable&) = delete;

 private:
  volatile void* variable_ = nullptr;
};

}  // namespace cpu_device
