// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// How a kernel launch becomes calls of an ordinary function.
//
// The rewriter turns  k<<<grid, block>>>(a, b)  into  cpu_device::launch(select, ...)(a, b).
// `select` hands the kernel over in the best form the language allows (launcher below).
// The arguments are converted and stored once; run_threads() then calls the kernel for one
// thread of the block after the other. A thread that has to wait (a barrier, a shuffle) keeps
// the stack it stands on, and the engine continues run_threads() on another one.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "cpu_device/runtime_api.h"
#include "cpu_device/vector_types.h"

// The built-in variables are variables, not macros: programs declare locals of the same names.
extern constinit thread_local uint3 threadIdx;
extern constinit thread_local uint3 blockIdx;
extern constinit thread_local dim3 blockDim;
extern constinit thread_local dim3 gridDim;
constexpr int warpSize = 32;

namespace cpu_device {

/// Where a thread stands in its block; linear counts x fastest, as warps do.
struct thread_position {
  unsigned x, y, z, linear;
};

struct worker;

/// How far the block that runs on this OS thread has come.
struct block_progress {
  const thread_position* order = nullptr;  ///< the order in which the threads start
  unsigned started = 0, count = 0, finished = 0;
  unsigned waits = 0;  ///< how often a thread had to wait and another went on
  const thread_position* position = nullptr;  ///< the running thread
  unsigned block_serial = 0;                  ///< a number no two blocks of this OS thread share
  void* dynamic_shared = nullptr;
  bool watching = false;   ///< check build: a kernel's code runs, and what it accesses is looked at
  worker* self = nullptr;  ///< who runs the block
};
extern constinit thread_local block_progress progress;

struct launch_site {
  const char* kernel;
  const char* file;
  int line;
};

struct launch_shape {
  dim3 grid, block;
  std::size_t shared_bytes;
  cudaStream_t stream;
  bool cooperative = false;  ///< all blocks run at the same time and may wait for each other
};

/// A kernel with its arguments, type erased: what the engine needs to run it now or later.
struct kernel_call {
  void (*run)(const void* arguments);     ///< run_threads() of this kernel
  const void* arguments;                  ///< stored call object
  void* (*clone)(const void* arguments);  ///< for a stream that runs it later
  void (*destroy)(void* arguments);
  const void* kernel;                 ///< the kernel's address, where it has one
  const void* const* pointers;        ///< the arguments that are pointers ...
  const unsigned* pointer_positions;  ///< ... and which argument each one is, from 1
  unsigned pointer_count;
};

/// Checks the configuration and the pointers, then runs or queues the kernel. Failures are
/// returned, and found with cudaGetLastError(), as on a GPU.
cudaError_t submit(const launch_site& site, const launch_shape& shape, const kernel_call& call);

/// The end of run_threads() on one stack: goes on with a waiting thread, or returns when the
/// whole block has finished.
void out_of_threads();

template <class Call>
CPU_DEVICE_UNWATCHED void run_threads(const void* stored) {
  block_progress& p = progress;
#ifdef CPU_DEVICE_CHECK
  p.watching = false;  // while the arguments are copied: they lie in the host's memory
#endif
  const Call call(*static_cast<const Call*>(stored));  // a copy: the compiler sees it never changes
#ifdef CPU_DEVICE_CHECK
  p.watching = true;
#endif
  const unsigned count = p.count;
  unsigned finished = 0, waits = p.waits;
  for (unsigned next = p.started; next != count;) {
    const thread_position& t = p.order[next];
    p.started = ++next;
    threadIdx = {t.x, t.y, t.z};
    p.position = &t;
    call();
    ++finished;
    // Did it wait in there? Then other stacks may have started threads meanwhile. (Asking first is
    // faster than reading `started` back each time.)
    if (p.waits != waits) {
      waits = p.waits;
      next = p.started;
    }
  }
  p.finished += finished;
  out_of_threads();
#ifdef CPU_DEVICE_CHECK
  p.watching = false;
#endif
}

template <class Call, class... Args>
cudaError_t submit_call(const launch_site& site, const launch_shape& shape, const Call& call,
                        const void* kernel, const Args&... args) {
  const void* pointers[sizeof...(Args) + 1];
  unsigned positions[sizeof...(Args) + 1];
  unsigned count = 0, position = 0;
  [[maybe_unused]] const auto note = [&](const auto& arg) {
    ++position;
    if constexpr (std::is_pointer_v<std::decay_t<decltype(arg)>>) {
      if constexpr (!std::is_function_v<std::remove_pointer_t<std::decay_t<decltype(arg)>>>) {
        positions[count] = position;
        pointers[count++] = const_cast<const void*>(static_cast<const volatile void*>(arg));
      }
    }
  };
  (note(args), ...);
  return submit(
      site, shape,
      {&run_threads<Call>, &call,
       [](const void* a) -> void* { return new Call(*static_cast<const Call*>(a)); },
       [](void* a) { delete static_cast<Call*>(a); }, kernel, pointers, positions, count});
}

/// The bytes that a kernel's parameters take, each at its alignment; a reference is an address.
template <class... P>
constexpr std::size_t parameter_bytes() {
  std::size_t end = 0;
  ((end = (end + alignof(std::tuple<P>) - 1) / alignof(std::tuple<P>) * alignof(std::tuple<P>) +
          sizeof(std::tuple<P>)),
   ...);
  return end;
}
constexpr std::size_t kMostParameterBytes = 32764;  // since compute capability 7.0 and CUDA 12.1

/// A kernel known at compile time: its body can be inlined into run_threads().
template <auto Kernel, class... P>
struct constant_launch {
  launch_site site;
  launch_shape shape;
  struct call {
    std::tuple<P...> args;
    void operator()() const { std::apply(Kernel, args); }
  };
  void operator()(P... args) const {
    static_assert(parameter_bytes<P...>() <= kMostParameterBytes,
                  "this kernel's parameters take more than the 32,764 bytes that a launch can "
                  "carry: pass a pointer to device memory");
    submit_call(site, shape, call{{args...}}, reinterpret_cast<const void*>(Kernel), args...);
  }
};

/// A kernel behind a function pointer.
template <class... P>
struct pointer_launch {
  launch_site site;
  launch_shape shape;
  void (*kernel)(P...);
  struct call {
    void (*kernel)(P...);
    std::tuple<P...> args;
    void operator()() const { std::apply(kernel, args); }
  };
  void operator()(P... args) const {
    submit_call(site, shape, call{kernel, {args...}}, reinterpret_cast<const void*>(kernel),
                args...);
  }
};

/// A template or an overload set: the arguments decide which kernel it is.
template <class Callable>
struct deduced_launch {
  launch_site site;
  launch_shape shape;
  Callable callable;
  template <class... A>
  struct call {
    Callable callable;
    std::tuple<A...> args;
    void operator()() const { std::apply(callable, args); }
  };
  template <class... A>
  void operator()(const A&... args) const {
    submit_call(site, shape, call<std::decay_t<A>...>{callable, {args...}}, nullptr, args...);
  }
};

/// A kernel known at compile time that is given fewer arguments than it has parameters: only a call
/// by its name, as `ByName` makes it, knows the defaults.
template <class ByName, auto Kernel, class... P>
struct launch_with_defaults : constant_launch<Kernel, P...> {
  ByName by_name;

  using constant_launch<Kernel, P...>::operator();
  template <class... A>
  requires(sizeof...(A) < sizeof...(P)) void operator()(const A&... args) const {
    deduced_launch<ByName>{this->site, this->shape, by_name}(args...);
  }
};

struct launcher {
  launch_site site;
  launch_shape shape;

  template <auto Kernel, class ByName>
  auto typed(ByName by_name) const {
    return typed_constant<Kernel>(Kernel, by_name);
  }
  // Not  void (*)(P...):  that would choose the overload without parameters from a set.
  template <class Function>
  requires std::is_function_v<Function>
  auto typed(Function* kernel) const { return typed_pointer(kernel); }
  template <class Callable>
  auto deduced(Callable callable) const {
    return deduced_launch<Callable>{site, shape, callable};
  }

 private:
  template <auto Kernel, class ByName, class... P>
  auto typed_constant(void (*)(P...), ByName by_name) const {
    return launch_with_defaults<ByName, Kernel, P...>{{site, shape}, by_name};
  }
  template <class... P>
  auto typed_pointer(void (*kernel)(P...)) const {
    return pointer_launch<P...>{site, shape, kernel};
  }
};

/// What  kernel<<<grid, block, shared_bytes, stream>>>  becomes; the result is called with the
/// kernel's arguments.
template <class Select>
auto launch(Select select, const char* kernel, const char* file, int line, dim3 grid, dim3 block,
            std::size_t shared_bytes = 0, cudaStream_t stream = nullptr) {
  return select(launcher{{kernel, file, line}, {grid, block, shared_bytes, stream}});
}

/// A kernel with __launch_bounds__(threads): noted before main() starts.
bool note_launch_bound(const void* kernel, unsigned threads);
template <auto Kernel, unsigned Threads>
inline const bool noted_bound = note_launch_bound(reinterpret_cast<const void*>(Kernel), Threads);

template <unsigned Threads>
struct bound_of_kernel {
  template <auto Kernel>
  CPU_DEVICE_UNWATCHED void kernel() const {
    static_cast<void>(&noted_bound<Kernel, Threads>);  // so that it is there: nothing is executed
  }
};
/// The rewriter writes this at the begin of such a kernel. `note` names the kernel to
/// bound_of_kernel::kernel(), unless it shares its name with another one.
template <auto Threads, class Note>
CPU_DEVICE_UNWATCHED inline void launch_bounds(Note note) {
  note(bound_of_kernel<static_cast<unsigned>(Threads)>{});
}

/// The block's dynamic shared memory (third launch argument).
inline void* dynamic_shared() { return progress.dynamic_shared; }

/// An  extern __shared__ T name[]  outside of functions: the pointer above, looked up at each use.
template <class T>
struct dynamic_shared_array {
  operator std::add_pointer_t<T>() const {  // NOLINT: implicit, as an array's conversion is
    return static_cast<std::add_pointer_t<T>>(dynamic_shared());
  }
};

/// Fills memory with 0xFF bytes, unseen by the check build.
void poison(void* memory, std::size_t bytes);

/// Fills fresh __shared__ variables with 0xFF bytes (NaN, -1) once a block: shared memory that
/// nobody wrote holds rubbish on a GPU, too. `Unique` is a lambda of the declaration.
template <class Unique, class... T>
CPU_DEVICE_UNWATCHED inline void shared_birth(Unique, T&... variables) {
  static thread_local constinit unsigned born_in = 0;
  if (born_in != progress.block_serial) {
    born_in = progress.block_serial;
    (poison(const_cast<void*>(static_cast<const volatile void*>(&variables)), sizeof variables),
     ...);
  }
}

}  // namespace cpu_device
