// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Atomic functions and fences. The functions are relaxed read-modify-write operations that return
// the old value, in the three scopes that CUDA knows. Here every scope is as wide as the machine;
// the check build says where one is too narrow for a GPU.
//
// The threads of a block share an OS thread, so one that spins must let the others run. These do:
// a failing compare-and-swap, an exchange that changed nothing (a lock that was taken already), and
// now and then a read-modify-write with 0, which is a load. A thread that spins otherwise, on a
// volatile variable, is preempted after a while.
#pragma once

#include <cstring>
#include <type_traits>

#include "cpu_device/execution.h"
#include "cpu_device/synchronization.h"

namespace cpu_device {

template <class T>
using bits_of = std::conditional_t<
    sizeof(T) == 8, unsigned long long,
    std::conditional_t<sizeof(T) == 4, unsigned int,
                       std::conditional_t<sizeof(T) == 2, unsigned short, unsigned char>>>;

/// A load that is not one of the program's: the check build looks at what follows it.
template <class T>
CPU_DEVICE_UNWATCHED inline T peek(const T* address) {
  return __atomic_load_n(address, __ATOMIC_RELAXED);
}

/// Replaces *address by change(*address) in one step; returns what was there.
template <class T, class Change>
T atomic_update(T* address, Change change, int order = __ATOMIC_RELAXED) {
  auto* cell = reinterpret_cast<bits_of<T>*>(address);
  bits_of<T> seen = peek(cell);
  for (;;) {
    T old;
    std::memcpy(&old, &seen, sizeof old);
    const T next = change(old);
    bits_of<T> wanted;
    std::memcpy(&wanted, &next, sizeof wanted);
    if (__atomic_compare_exchange_n(cell, &seen, wanted, false, order, __ATOMIC_RELAXED))
      return old;
  }
}

/// Lets other threads run: called by an atomic that failed. Host code just continues.
void spin_pause(const char* file, int line);

void begin_block_scope();  // the check build's
void begin_system_scope();
void end_scope();
/// Between begin() and end(), this thread's atomics and fences are of block scope. Nothing may wait
/// meanwhile. (No object with a destructor: the check build would watch it.)
struct block_scope {
#ifdef CPU_DEVICE_CHECK
  static void begin() { begin_block_scope(); }
  static void end() { end_scope(); }
#else
  static void begin() {}
  static void end() {}
#endif
};
/// The same for the scope of the system: the device, other devices and the host.
struct system_scope {
#ifdef CPU_DEVICE_CHECK
  static void begin() { begin_system_scope(); }
  static void end() { end_scope(); }
#else
  static void begin() {}
  static void end() {}
#endif
};
/// And for that of the device, which they have otherwise: nothing.
struct device_scope {
  static void begin() {}
  static void end() {}
};

/// Called at each atomic load: lets other threads run now and then.
void note_load(const char* file, int line);

}  // namespace cpu_device

// One family: the plain name and its _block and _system forms. MEANWHILE is a statement after it.
#define CPU_DEVICE_ATOMIC_FUNCTION(T, NAME, SCOPE, EXPRESSION, MEANWHILE) \
  inline T NAME(T* address, T value, CPU_DEVICE_HERE) {                   \
    cpu_device::SCOPE::begin();                                           \
    const T old = EXPRESSION;                                             \
    cpu_device::SCOPE::end();                                             \
    MEANWHILE;                                                            \
    static_cast<void>(file), static_cast<void>(line);                     \
    return old;                                                           \
  }
#define CPU_DEVICE_ATOMIC_FAMILY(T, NAME, EXPRESSION, MEANWHILE)                  \
  CPU_DEVICE_ATOMIC_FUNCTION(T, NAME, device_scope, EXPRESSION, MEANWHILE)        \
  CPU_DEVICE_ATOMIC_FUNCTION(T, NAME##_block, block_scope, EXPRESSION, MEANWHILE) \
  CPU_DEVICE_ATOMIC_FUNCTION(T, NAME##_system, system_scope, EXPRESSION, MEANWHILE)
#define CPU_DEVICE_ATOMIC(T, NAME, EXPRESSION) CPU_DEVICE_ATOMIC_FAMILY(T, NAME, EXPRESSION, )
#define CPU_DEVICE_ATOMIC_OR_LOAD(T, NAME, EXPRESSION) \
  CPU_DEVICE_ATOMIC_FAMILY(T, NAME, EXPRESSION, if (value == 0) cpu_device::note_load(file, line))
#define CPU_DEVICE_ATOMIC_EXCHANGE(T, EXPRESSION)     \
  CPU_DEVICE_ATOMIC_FAMILY(T, atomicExch, EXPRESSION, \
                           if (old == value) cpu_device::spin_pause(file, line))

// What every integer type has.
#define CPU_DEVICE_INTEGER_ATOMICS(T)                                                           \
  CPU_DEVICE_ATOMIC_OR_LOAD(T, atomicAdd, __atomic_fetch_add(address, value, __ATOMIC_RELAXED)) \
  CPU_DEVICE_ATOMIC_OR_LOAD(T, atomicOr, __atomic_fetch_or(address, value, __ATOMIC_RELAXED))   \
  CPU_DEVICE_ATOMIC_OR_LOAD(T, atomicXor, __atomic_fetch_xor(address, value, __ATOMIC_RELAXED)) \
  CPU_DEVICE_ATOMIC(T, atomicAnd, __atomic_fetch_and(address, value, __ATOMIC_RELAXED))         \
  CPU_DEVICE_ATOMIC_EXCHANGE(T, __atomic_exchange_n(address, value, __ATOMIC_RELAXED))          \
  CPU_DEVICE_MIN_MAX_ATOMICS(T)
#define CPU_DEVICE_MIN_MAX_ATOMICS(T)                                              \
  CPU_DEVICE_ATOMIC(T, atomicMin, cpu_device::atomic_update(address, [=](T seen) { \
                      return value < seen ? value : seen;                          \
                    }))                                                            \
  CPU_DEVICE_ATOMIC(T, atomicMax, cpu_device::atomic_update(address, [=](T seen) { \
                      return value > seen ? value : seen;                          \
                    }))

CPU_DEVICE_INTEGER_ATOMICS(int)
CPU_DEVICE_INTEGER_ATOMICS(unsigned int)
CPU_DEVICE_INTEGER_ATOMICS(unsigned long long)
CPU_DEVICE_MIN_MAX_ATOMICS(long long)
CPU_DEVICE_ATOMIC(float, atomicAdd,
                  cpu_device::atomic_update(address, [=](float seen) { return seen + value; }))
CPU_DEVICE_ATOMIC(double, atomicAdd,
                  cpu_device::atomic_update(address, [=](double seen) { return seen + value; }))
CPU_DEVICE_ATOMIC(float, atomicExch,
                  cpu_device::atomic_update(address, [=](float) { return value; }))
CPU_DEVICE_ATOMIC_OR_LOAD(int, atomicSub, __atomic_fetch_sub(address, value, __ATOMIC_RELAXED))
CPU_DEVICE_ATOMIC_OR_LOAD(unsigned int, atomicSub,
                          __atomic_fetch_sub(address, value, __ATOMIC_RELAXED))
CPU_DEVICE_ATOMIC(unsigned int, atomicInc,
                  cpu_device::atomic_update(address, [=](unsigned int seen) {
                    return seen >= value ? 0U : seen + 1U;
                  }))
CPU_DEVICE_ATOMIC(unsigned int, atomicDec,
                  cpu_device::atomic_update(address, [=](unsigned int seen) {
                    return seen == 0U || seen > value ? value : seen - 1U;
                  }))

// Each component is added atomically, the vector as a whole is not (as on a GPU).
#define CPU_DEVICE_VECTOR_ADD(NAME)                                                             \
  inline float2 NAME(float2* address, float2 value) {                                           \
    return {NAME(&address->x, value.x), NAME(&address->y, value.y)};                            \
  }                                                                                             \
  inline float4 NAME(float4* address, float4 value) {                                           \
    return {NAME(&address->x, value.x), NAME(&address->y, value.y), NAME(&address->z, value.z), \
            NAME(&address->w, value.w)};                                                        \
  }
CPU_DEVICE_VECTOR_ADD(atomicAdd)
CPU_DEVICE_VECTOR_ADD(atomicAdd_block)
CPU_DEVICE_VECTOR_ADD(atomicAdd_system)

#undef CPU_DEVICE_VECTOR_ADD
#undef CPU_DEVICE_MIN_MAX_ATOMICS
#undef CPU_DEVICE_INTEGER_ATOMICS
#undef CPU_DEVICE_ATOMIC_EXCHANGE
#undef CPU_DEVICE_ATOMIC_OR_LOAD
#undef CPU_DEVICE_ATOMIC
#undef CPU_DEVICE_ATOMIC_FAMILY
#undef CPU_DEVICE_ATOMIC_FUNCTION

#define CPU_DEVICE_CAS(T, NAME, SCOPE)                                                 \
  inline T NAME(T* address, T expected, T desired, CPU_DEVICE_HERE) {                  \
    cpu_device::SCOPE::begin();                                                        \
    const bool done = __atomic_compare_exchange_n(address, &expected, desired, false,  \
                                                  __ATOMIC_RELAXED, __ATOMIC_RELAXED); \
    cpu_device::SCOPE::end();                                                          \
    if (!done) cpu_device::yield(file, line);                                          \
    return expected;                                                                   \
  }
#define CPU_DEVICE_CAS_SCOPES(T)                  \
  CPU_DEVICE_CAS(T, atomicCAS, device_scope)      \
  CPU_DEVICE_CAS(T, atomicCAS_block, block_scope) \
  CPU_DEVICE_CAS(T, atomicCAS_system, system_scope)
CPU_DEVICE_CAS_SCOPES(int)
CPU_DEVICE_CAS_SCOPES(unsigned int)
CPU_DEVICE_CAS_SCOPES(unsigned long long)
CPU_DEVICE_CAS(unsigned short, atomicCAS, device_scope)
#undef CPU_DEVICE_CAS_SCOPES
#undef CPU_DEVICE_CAS

// Fences order the accesses of one thread as others see them. Threads of one block share an OS
// thread here, so only the compiler and other workers must be kept from reordering.
inline void __threadfence_block() {
  cpu_device::block_scope::begin();
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  cpu_device::block_scope::end();
}
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_system() {
  cpu_device::system_scope::begin();
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  cpu_device::system_scope::end();
}
