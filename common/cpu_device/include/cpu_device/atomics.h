// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Atomic functions: relaxed read-modify-write operations that return the old value, in the three
// scopes that CUDA knows (here every scope is as wide as the machine).
#pragma once

#include <cstring>
#include <type_traits>

#include "cpu_device/synchronization.h"

namespace cpu_device {

template <class T>
using bits_of = std::conditional_t<
    sizeof(T) == 8, unsigned long long,
    std::conditional_t<sizeof(T) == 4, unsigned int, unsigned short>>;

/// Replaces *address by change(*address) in one step; returns what was there.
template <class T, class Change>
T atomic_update(T* address, Change change) {
  auto* cell = reinterpret_cast<bits_of<T>*>(address);
  bits_of<T> seen = __atomic_load_n(cell, __ATOMIC_RELAXED);
  for (;;) {
    T old;
    std::memcpy(&old, &seen, sizeof old);
    const T next = change(old);
    bits_of<T> wanted;
    std::memcpy(&wanted, &next, sizeof wanted);
    if (__atomic_compare_exchange_n(cell, &seen, wanted, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      return old;
  }
}

}  // namespace cpu_device

// One family: the plain name and its _block and _system forms.
#define CPU_DEVICE_ATOMIC(T, NAME, EXPRESSION)                                       \
  inline T NAME(T* address, T value) { return EXPRESSION; }                         \
  inline T NAME##_block(T* address, T value) { return EXPRESSION; }                 \
  inline T NAME##_system(T* address, T value) { return EXPRESSION; }

#define CPU_DEVICE_INTEGER_ATOMICS(T)                                                       \
  CPU_DEVICE_ATOMIC(T, atomicAdd, __atomic_fetch_add(address, value, __ATOMIC_RELAXED))     \
  CPU_DEVICE_ATOMIC(T, atomicExch, __atomic_exchange_n(address, value, __ATOMIC_RELAXED))   \
  CPU_DEVICE_ATOMIC(T, atomicAnd, __atomic_fetch_and(address, value, __ATOMIC_RELAXED))     \
  CPU_DEVICE_ATOMIC(T, atomicOr, __atomic_fetch_or(address, value, __ATOMIC_RELAXED))       \
  CPU_DEVICE_ATOMIC(T, atomicXor, __atomic_fetch_xor(address, value, __ATOMIC_RELAXED))     \
  CPU_DEVICE_ATOMIC(T, atomicMin, cpu_device::atomic_update(address, [=](T old) {           \
                      return value < old ? value : old;                                     \
                    }))                                                                     \
  CPU_DEVICE_ATOMIC(T, atomicMax, cpu_device::atomic_update(address, [=](T old) {           \
                      return value > old ? value : old;                                     \
                    }))

CPU_DEVICE_INTEGER_ATOMICS(int)
CPU_DEVICE_INTEGER_ATOMICS(unsigned int)
CPU_DEVICE_INTEGER_ATOMICS(unsigned long long)
CPU_DEVICE_ATOMIC(long long, atomicMin, cpu_device::atomic_update(address, [=](long long old) {
                    return value < old ? value : old;
                  }))
CPU_DEVICE_ATOMIC(long long, atomicMax, cpu_device::atomic_update(address, [=](long long old) {
                    return value > old ? value : old;
                  }))
CPU_DEVICE_ATOMIC(float, atomicAdd,
                  cpu_device::atomic_update(address, [=](float old) { return old + value; }))
CPU_DEVICE_ATOMIC(double, atomicAdd,
                  cpu_device::atomic_update(address, [=](double old) { return old + value; }))
CPU_DEVICE_ATOMIC(float, atomicExch,
                  cpu_device::atomic_update(address, [=](float) { return value; }))
CPU_DEVICE_ATOMIC(int, atomicSub, __atomic_fetch_sub(address, value, __ATOMIC_RELAXED))
CPU_DEVICE_ATOMIC(unsigned int, atomicSub, __atomic_fetch_sub(address, value, __ATOMIC_RELAXED))
CPU_DEVICE_ATOMIC(unsigned int, atomicInc, cpu_device::atomic_update(address, [=](unsigned old) {
                    return old >= value ? 0U : old + 1U;
                  }))
CPU_DEVICE_ATOMIC(unsigned int, atomicDec, cpu_device::atomic_update(address, [=](unsigned old) {
                    return old == 0U || old > value ? value : old - 1U;
                  }))
#undef CPU_DEVICE_INTEGER_ATOMICS
#undef CPU_DEVICE_ATOMIC

// A failing compare-and-swap is how locks spin, so it lets the other threads run.
#define CPU_DEVICE_CAS(T, NAME)                                                              \
  inline T NAME(T* address, T expected, T desired, CPU_DEVICE_HERE) {                        \
    if (!__atomic_compare_exchange_n(address, &expected, desired, false, __ATOMIC_RELAXED,   \
                                     __ATOMIC_RELAXED))                                      \
      cpu_device::yield(file, line);                                                         \
    return expected;                                                                         \
  }
#define CPU_DEVICE_CAS_SCOPES(T)       \
  CPU_DEVICE_CAS(T, atomicCAS)         \
  CPU_DEVICE_CAS(T, atomicCAS_block)   \
  CPU_DEVICE_CAS(T, atomicCAS_system)
CPU_DEVICE_CAS_SCOPES(int)
CPU_DEVICE_CAS_SCOPES(unsigned int)
CPU_DEVICE_CAS_SCOPES(unsigned long long)
CPU_DEVICE_CAS_SCOPES(unsigned short)
#undef CPU_DEVICE_CAS_SCOPES
#undef CPU_DEVICE_CAS
