// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A stand-in for the CPU device, only as large as what the rewriter writes: a launch calls the
// kernel once and notes which form it came in.
#pragma once

#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __shared__ static thread_local
#define __align__(n) alignas(n)
#define __launch_bounds__(...)

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

enum launch_form { constant, function_pointer, generic_call };

namespace cpu_device {

inline std::string last_kernel;
inline launch_form last_form;
inline int failures = 0;
alignas(64) inline thread_local unsigned char dynamic_bytes[1024];

inline void* dynamic_shared() { return dynamic_bytes; }
template <class T>
struct dynamic_shared_array {
  operator T*() const { return static_cast<T*>(dynamic_shared()); }
};
template <class Unique, class... T>
void shared_birth(Unique, T&... variables) {
  (std::memset(const_cast<void*>(static_cast<const volatile void*>(&variables)), 0xFF,
               sizeof variables),
   ...);
}

struct launcher {
  template <auto Kernel, class ByName>
  auto typed(ByName) const {
    static_assert(std::is_function_v<std::remove_pointer_t<decltype(Kernel)>>);
    last_form = constant;
    return Kernel;
  }
  template <class Function>
  requires std::is_function_v<Function>
  auto typed(Function* kernel) const {
    last_form = function_pointer;
    return kernel;
  }
  template <class Callable>
  auto deduced(Callable callable) const {
    last_form = generic_call;
    return callable;
  }
};

template <class Select>
auto launch(Select select, const char* kernel, const char*, int, dim3, dim3, std::size_t = 0,
            void* = nullptr) {
  last_kernel = kernel;
  return select(launcher{});
}

}  // namespace cpu_device

inline void expect(const char* kernel, launch_form form) {
  if (cpu_device::last_kernel == kernel && cpu_device::last_form == form) return;
  ++cpu_device::failures;
  std::printf("expected form %d of %s, got form %d of %s\n", form, kernel, cpu_device::last_form,
              cpu_device::last_kernel.c_str());
}
inline int finish() { return cpu_device::failures == 0 ? 0 : 1; }
