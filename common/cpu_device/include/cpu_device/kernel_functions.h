// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What else kernels call: traps, clocks, assumptions, loads and stores with a cache hint.
//
// assert() needs nothing here: a failing one in a kernel ends the launch with cudaErrorAssert (the
// library has its own __assert_fail), and on the host it does what it always does. As with nvcc,
// -DNDEBUG removes it. printf() is the C library's: it writes each call's text in one piece.
#pragma once

#include <time.h>

#include "cpu_device/synchronization.h"

namespace cpu_device {

/// Ends the running launch, which fails with cudaErrorLaunchFailure; `sentence` is reported.
[[noreturn]] void refuse(const char* sentence, const char* file, int line);

[[noreturn]] void trap(const char* what, const char* file, int line);

/// malloc(), for host code and kernels of the check build.
void* kernel_malloc(std::size_t bytes);

namespace ptx {  // what special registers hold
/// Blocks are dealt to the multiprocessors in turns.
unsigned multiprocessor();
unsigned multiprocessors();
std::uint64_t nanoseconds();
}  // namespace ptx

}  // namespace cpu_device

#ifdef CPU_DEVICE_CHECK
// The C library's gives way to this one: the heap is the host's memory, but what a kernel allocates
// there is the kernel's. operator new comes here, too.
extern "C" __attribute__((weak)) CPU_DEVICE_UNWATCHED void* malloc(std::size_t bytes) noexcept {
  return cpu_device::kernel_malloc(bytes);
}
#endif

[[noreturn]] inline void __trap(CPU_DEVICE_HERE) { cpu_device::trap("__trap()", file, line); }
/// A debugger stops here; without one, it ends the launch as __trap() does.
inline void __brkpt(CPU_DEVICE_HERE) { cpu_device::trap("__brkpt()", file, line); }

/// The processor's clock, as is clock() in a kernel.
inline long long clock64() {
#if defined(__x86_64__)
  return static_cast<long long>(__builtin_ia32_rdtsc());
#else
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<long long>(now.tv_sec) * 1000000000 + now.tv_nsec;
#endif
}

// A condition that the compiler may take for granted.
#define __assume(condition) ((condition) ? static_cast<void>(0) : __builtin_unreachable())
#ifndef __clang__
#define __builtin_assume(condition) __assume(condition)
#endif

// Addresses of shared memory of 32 bits, as some instructions take them. One is good in its block.
std::size_t __cvta_generic_to_shared(const void* shared);
void* __cvta_shared_to_generic(std::size_t address);
inline std::size_t __cvta_generic_to_global(const void* global) {
  return reinterpret_cast<std::size_t>(global);
}
inline void* __cvta_global_to_generic(std::size_t address) {
  return reinterpret_cast<void*>(address);
}

// The processor's caches take no hints: these are ordinary loads and stores.
#define CPU_DEVICE_LOAD(NAME) \
  template <class T>          \
  T NAME(const T* address) {  \
    return *address;          \
  }
CPU_DEVICE_LOAD(__ldca)
CPU_DEVICE_LOAD(__ldcg)
CPU_DEVICE_LOAD(__ldcs)
CPU_DEVICE_LOAD(__ldlu)
#undef CPU_DEVICE_LOAD
/// Reads through the cache for what nobody writes while the kernel runs: the check build reports a
/// kernel that has.
template <class T>
T __ldg(const T* address, [[maybe_unused]] const char* file = __builtin_FILE(),
        [[maybe_unused]] int line = __builtin_LINE()) {
#ifdef CPU_DEVICE_CHECK
  cpu_device_look_at_call(address, sizeof(T), 0, cpu_device::kReadOnly, file, line);
#endif
  return *address;
}
/// Reads memory anew at each call.
template <class T>
T __ldcv(const T* address) {
  __asm__ volatile("" ::: "memory");
  return *address;
}
#define CPU_DEVICE_STORE(NAME)     \
  template <class T>               \
  void NAME(T* address, T value) { \
    *address = value;              \
  }
CPU_DEVICE_STORE(__stwb)
CPU_DEVICE_STORE(__stcg)
CPU_DEVICE_STORE(__stcs)
CPU_DEVICE_STORE(__stwt)
#undef CPU_DEVICE_STORE
