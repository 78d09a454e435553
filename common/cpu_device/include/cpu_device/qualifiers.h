// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// CUDA's keywords as a host compiler sees them. The rewriter has already dealt with <<<...>>>,
// extern __shared__, __noinline__ and __forceinline__, which cannot be macros.
#pragma once

#define __CPU_DEVICE__ 1
// What `#if __CUDA_ARCH__ >= 700` is told: the compute capability in cudaDeviceProp.
#define __CPU_DEVICE_ARCH__ 900

#define __host__
#define __device__
#define __global__
#define __constant__
#define __managed__
#define __grid_constant__
// A block runs on one OS thread, so a variable of the block is a variable of that OS thread.
#define __shared__ static thread_local
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)
#ifndef __restrict__
#define __restrict__ __restrict
#endif
#define __align__(n) __attribute__((aligned(n)))
#define CUDART_CB

// What compiles and launches kernels is C++20, as cpucc has it. Files that another compiler
// compiles as an older C++ call the rest of the runtime API, as C files do.
#if defined(__cplusplus) && __cplusplus >= 202002L
#define CPU_DEVICE_KERNELS
#endif

// The last parameters of what reports: where it was called.
#define CPU_DEVICE_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

// The headers of what C can call are for C11, too. There, nothing has a default argument.
#ifdef __cplusplus
#define CPU_DEVICE_DEFAULT(value) = value
#define CPU_DEVICE_INLINE constexpr
#define CPU_DEVICE_VALUE(type, ...) \
  { __VA_ARGS__ }
#else
#define CPU_DEVICE_DEFAULT(value)
#define CPU_DEVICE_INLINE static inline
#define CPU_DEVICE_VALUE(type, ...) \
  (type) { __VA_ARGS__ }
#endif
// What names a kernel or a variable of the device, where there is none.
#ifdef __cplusplus
#define CPU_DEVICE_NEEDS_KERNELS(function)                                                      \
  __attribute__((error("kernels need C++20: call " #function " in a .cu file, or compile with " \
                       "-std=c++20"))) enum cudaError                                           \
  function(const void*, ...)
#else
#define CPU_DEVICE_NEEDS_KERNELS(function)                                                    \
  __attribute__((error("C cannot name kernels and variables of the device: call " #function   \
                       " in a .cu file, in a function that is extern \"C\""))) enum cudaError \
  function(const void*, ...)
#endif

#if defined(__SANITIZE_THREAD__)
#define CPU_DEVICE_CHECK 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CPU_DEVICE_CHECK 1
#endif
#endif
// The check build must not take what the engine's functions access for the kernel's accesses.
#ifdef CPU_DEVICE_CHECK
#define CPU_DEVICE_UNWATCHED __attribute__((no_sanitize("thread")))
// The rewriter writes this before each name of a `__shared__` declaration: as much room as the
// variable takes, which no variable is in. Compilers keep variables in the order of their
// declarations, or in the reverse one (g++), so the end of one and the begin of the next are apart.
#define CPU_DEVICE_GAP(name, ...) cpu_device_gap_##name [[gnu::used]] __VA_ARGS__,
#else
#define CPU_DEVICE_UNWATCHED
#define CPU_DEVICE_GAP(name, ...)
#endif
#define CPU_DEVICE_NO_GAP(name, ...)  // for comparisons of builds
