// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// How a kernel launch becomes calls of an ordinary function.
//
// The rewriter turns  k<<<grid, block>>>(a, b)  into  cpu_device::launch(select, ...)(a, b).
// `select` hands the kernel over in the best form the language allows (launcher below).
// The arguments are converted and stored once; run_threads() then calls the kernel for one
// thread of the block after the other. A thread that must wait (a barrier, a shuffle) keeps the
// stack it runs on, and the engine continues run_threads() on another one.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "cpu_device/runtime_api.h"
#include "cpu_device/vector_types.h"

// The built-in variables are variables, not macros: programs declare locals of the same names.
// The engine is linked into the program, so the code of an executable can reach them without a
// detour. (A shared object has to take it; and cpucc compiles before it knows where the engine is.)
#if defined(__PIC__) && !defined(__PIE__)
#define CPU_DEVICE_BUILT_IN extern constinit thread_local
#elif defined(CPU_DEVICE_ANY_RUNTIME)
#define CPU_DEVICE_BUILT_IN extern constinit thread_local __attribute__((tls_model("initial-exec")))
#else
#define CPU_DEVICE_BUILT_IN extern constinit thread_local __attribute__((tls_model("local-exec")))
#endif
CPU_DEVICE_BUILT_IN uint3 threadIdx;
CPU_DEVICE_BUILT_IN uint3 blockIdx;
CPU_DEVICE_BUILT_IN dim3 blockDim;
CPU_DEVICE_BUILT_IN dim3 gridDim;
constexpr int warpSize = 32;

/// Part of the checks, which are linked only into programs with watched kernels: looks at an access
/// of a function that is not watched itself, or whose accesses compilers do not tell. `way`: how it
/// is made.
extern "C" __attribute__((weak)) void cpu_device_look_at_call(const void* address,
                                                              std::size_t bytes, int write, int way,
                                                              const char* file, int line);

namespace cpu_device {

/// Where a thread stands in its block; linear counts x fastest, as warps do.
struct thread_position {
  unsigned x, y, z, linear;
};

struct worker;

/// How far the block that runs on this OS thread has come.
struct block_progress {
  const thread_position* position = nullptr;  ///< the running thread, in the order below
  unsigned waits = 0;                         ///< how often the thread changed
  unsigned count = 0, finished = 0;           ///< threads of the block
  unsigned row = 0;  ///< where x counts up from thread to thread: how far. 0: nowhere
  /// The order in which the threads start: all before `next` have started, and the running one.
  const thread_position *order = nullptr, *next = nullptr, *end = nullptr;
  /// Up to here the running stack may start threads itself: until one of them waits. Then null.
  const thread_position* stop = nullptr;
  unsigned block_serial = 0;  ///< a number no two blocks of this OS thread share
  void* dynamic_shared = nullptr;
  bool watching = false;  ///< check build: a kernel's code runs, and what it accesses is looked at
  bool copies_arguments = false;  ///< check build: the next thread's `watching` is about to begin
  worker* self = nullptr;         ///< who runs the block
  void* copies = nullptr;  ///< bulk copies that the block has started and not done; null: none
};
CPU_DEVICE_BUILT_IN block_progress progress;
#undef CPU_DEVICE_BUILT_IN

/// The ways of an access: by the thread, through the texture cache, by the engine that makes bulk
/// copies, by __ldg(). The last one is looked at in addition to the thread's own load.
constexpr int kOfThread = 0, kThroughTexture = 1, kOfCopyEngine = 2, kReadOnly = 3;

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
  dim3 cluster = {0, 0, 0};  ///< blocks of a cluster; (0, 0, 0): those of the kernel's declaration
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
  /// Writes down where each argument of a call is, or gives each the value at the address.
  void (*visit)(void* call, void** addresses, bool assign);
  unsigned argument_count;
};

/// Checks the configuration and the pointers, then runs or queues the kernel. Failures are
/// returned, and found with cudaGetLastError(), as on a GPU.
cudaError_t submit(const launch_site& site, const launch_shape& shape, const kernel_call& call);

/// Ends `finished` threads of the running stack and gives it the next ones, from progress.position
/// to progress.stop: of one row, with threadIdx of the first. False, and none is ended, if all have
/// started.
bool next_threads(unsigned finished);

/// Ends the last `finished` threads of the running stack, when all have started, and goes on with a
/// thread that waits. Returns, on the worker's own stack, when the whole block has finished.
void out_of_threads(unsigned finished);

/// Accesses that stay where they stand in the program, and are done once.
template <class T>
CPU_DEVICE_UNWATCHED inline T read_now(const T& variable) {
  return *static_cast<const volatile T*>(&variable);
}
template <class T>
CPU_DEVICE_UNWATCHED inline void write_now(T& variable, T value) {
  *static_cast<volatile T*>(&variable) = value;
}

/// Whether code of the class copies or destroys its objects. A GPU runs none of it for a kernel's
/// parameters: it is given the bytes of what the host has copied.
template <class T>
inline constexpr bool is_copied_by_code = (std::is_copy_constructible_v<T> &&
                                           !std::is_trivially_copy_constructible_v<T>) ||
                                          (std::is_destructible_v<T> &&
                                           !std::is_trivially_destructible_v<T>);

/// The bytes of an object. They are all that is copied of it, and nothing destroys them.
template <class T>
class bytes_of {
 public:
  explicit bytes_of(const T& object) {
    std::memcpy(bytes_, static_cast<const void*>(std::addressof(object)), sizeof(T));
  }
  operator T&() { return *reinterpret_cast<T*>(bytes_); }

 private:
  alignas(T) unsigned char bytes_[sizeof(T)];
};

/// Calls a kernel with the bytes of its arguments. Where code copies an object, C++ on Linux passes
/// the address of a copy that the caller makes and destroys. So to the kernel, which is compiled
/// apart, a parameter T& is the same as a parameter T.
template <class... P>
void call_with_bytes(void (*kernel)(P...), const std::tuple<P...>& arguments) {
  using taken = void (*)(std::conditional_t<is_copied_by_code<P>, P&, P>...);
  auto* address = reinterpret_cast<void*>(kernel);
  asm("" : "+r"(address));  // it may be any function, as far as the compiler can tell
  std::apply(
      [address](const P&... args) {
        reinterpret_cast<taken>(address)(
            std::conditional_t<is_copied_by_code<P>, bytes_of<P>, const P&>(args)...);
      },
      arguments);
}

template <class Call>
CPU_DEVICE_UNWATCHED void run_threads(const void* stored) {
  block_progress& p = progress;
#ifdef CPU_DEVICE_CHECK
  p.copies_arguments = true;
  p.watching = false;  // they are in the host's memory
#endif
  // A copy: the compiler sees that it never changes.
  std::conditional_t<is_copied_by_code<Call>, bytes_of<Call>, const Call> copy(
      *static_cast<const Call*>(stored));
  const Call& call = copy;
#ifdef CPU_DEVICE_CHECK
  p.watching = true;
  p.copies_arguments = false;
#endif
  // A thread may be preempted at any instruction of this function, and other stacks start threads
  // then. Hence this order: claim a thread, then ask whether it was still to be had, and only then
  // run it. When a thread has waited or was preempted, the row ends with it.
  const void* anything = &p;
  asm("" : "+r"(anything));  // it may point anywhere, as far as the compiler can tell
  unsigned finished = 0;
  while (next_threads(finished)) {
    const thread_position* t = p.position;
    const thread_position* const first = t;
    unsigned x = threadIdx.x;
    do {
      threadIdx.x = x++;
      call();
      // What a thread writes is written now, not after the loop: a wrong address is reported with
      // the thread and the line. (This reads memory, and changes none: what does not change from
      // thread to thread, such as blockIdx, stays in registers.)
      asm volatile("" : : "m"(*static_cast<const char*>(anything)));
      write_now(p.position, ++t);
    } while (t < read_now(p.stop));
    finished = static_cast<unsigned>(t - first);
  }
  // A jump to the next thread that waits, as far as the processor can tell: a call from which no
  // return comes would make it predict the returns of the block's other threads wrongly.
  out_of_threads(finished);
}

/// Whether a call keeps its arguments as a tuple. The libraries' own launches do not.
template <class Call, class = void>
inline constexpr bool keeps_arguments = false;
template <class Call>
inline constexpr bool keeps_arguments<Call, std::void_t<decltype(std::declval<Call&>().args)>> =
    true;

template <class Call>
void visit_arguments(void* call, void** addresses, bool assign) {
  if constexpr (keeps_arguments<Call>) {
    const auto visit = [assign]<class T>(T& argument, void*& address) {
      // const where the kernel takes the argument by reference.
      auto* const place = const_cast<std::remove_const_t<T>*>(std::addressof(argument));
      if (assign) {
        std::destroy_at(place);
        std::construct_at(place, *static_cast<const T*>(address));
      } else {
        address = place;
      }
    };
    std::apply([&](auto&... arguments) { (visit(arguments, *addresses++), ...); },
               static_cast<Call*>(call)->args);
  }
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
  return submit(site, shape,
                {&run_threads<Call>, &call,
                 [](const void* a) -> void* { return new Call(*static_cast<const Call*>(a)); },
                 [](void* a) { delete static_cast<Call*>(a); }, kernel, pointers, positions, count,
                 &visit_arguments<Call>, keeps_arguments<Call> ? sizeof...(Args) : 0});
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
    void operator()() const {
      if constexpr ((is_copied_by_code<P> || ...))
        call_with_bytes<P...>(Kernel, args);
      else
        std::apply(Kernel, args);
    }
  };
  void operator()(P... args) const {
    static_assert(parameter_bytes<P...>() <= kMostParameterBytes,
                  "this kernel's parameters take more than the 32,764 bytes that a launch can "
                  "carry: pass a pointer to device memory");
    submit_call(site, shape, call{{args...}}, reinterpret_cast<const void*>(Kernel), args...);
  }
};

/// What a report calls the kernel at an address. `otherwise`: if no symbol tells.
const char* name_of_kernel(const void* kernel, const char* otherwise);

/// A kernel behind a function pointer.
template <class... P>
struct pointer_launch {
  launch_site site;
  launch_shape shape;
  void (*kernel)(P...);
  struct call {
    void (*kernel)(P...);
    std::tuple<P...> args;
    void operator()() const {
      if constexpr ((is_copied_by_code<P> || ...))
        call_with_bytes(kernel, args);
      else
        std::apply(kernel, args);
    }
  };
  void operator()(P... args) const {
    const auto* address = reinterpret_cast<const void*>(kernel);
    submit_call({name_of_kernel(address, site.kernel), site.file, site.line}, shape,
                call{kernel, {args...}}, address, args...);
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

/// The same for __cluster_dims__(X, Y, Z).
bool note_cluster_dims(const void* kernel, dim3 cluster);
template <auto Kernel, unsigned X, unsigned Y, unsigned Z>
inline const bool noted_cluster = note_cluster_dims(reinterpret_cast<const void*>(Kernel),
                                                    dim3(X, Y, Z));

template <unsigned X, unsigned Y, unsigned Z>
struct cluster_of_kernel {
  template <auto Kernel>
  CPU_DEVICE_UNWATCHED void kernel() const {
    static_cast<void>(&noted_cluster<Kernel, X, Y, Z>);
  }
};
/// In such a kernel: refuses a launch that could not know of its clusters.
void require_clusters(dim3 cluster);
template <auto X, auto Y = 1, auto Z = 1, class Note>
CPU_DEVICE_UNWATCHED inline void cluster_dims(Note note) {
  constexpr auto x = static_cast<unsigned>(X), y = static_cast<unsigned>(Y),
                 z = static_cast<unsigned>(Z);
  static_assert(x != 0 && y != 0 && z != 0, "a cluster has at least one block in each direction");
  note(cluster_of_kernel<x, y, z>{});
  if (progress.position->linear == 0) require_clusters(dim3(x, y, z));
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

struct shared_variable {
  void* address;
  std::size_t bytes;
};
/// Poisons the variables, unless they were born in this block already. `names`: "a, b".
void be_born(unsigned& born_in, const shared_variable* variables, unsigned count,
             const char* names);

/// Check build: an OS thread has come by a declaration for the first time. Of an array of __half,
/// or of another class with constructors, g++ then notes that they have been called (nothing is),
/// where each thread of the block looks: a race that is none of the program's.
void forget_guards();

/// Check build: an OS thread has come by a declaration for the first time. `born_in` says in which
/// block it has last, as be_born() does.
void note_shared(const unsigned& born_in, const shared_variable* variables, unsigned count,
                 const char* names);

/// Fills fresh __shared__ variables with 0xFF bytes (NaN, -1) once per block: unwritten shared
/// memory holds garbage on a GPU, too. `names` is a lambda of the declaration, which says what the
/// variables are called.
template <class Names, class... T>
CPU_DEVICE_UNWATCHED inline void shared_birth(Names names, T&... variables) {
  static thread_local constinit unsigned born_in = 0;
  if (born_in != progress.block_serial) {
    const shared_variable all[] = {
        {const_cast<void*>(static_cast<const volatile void*>(&variables)), sizeof variables}...};
#ifdef CPU_DEVICE_CHECK
    if (born_in == 0) {
      forget_guards();
      note_shared(born_in, all, sizeof...(T), names());
    }
#endif
    be_born(born_in, all, sizeof...(T), names());
  }
}

struct local_array {
  const void* begin;
  std::size_t bytes, element;  ///< of all, and of one element
  const char* name;
  const char* file;
  int line;
};
/// Check build: the thread has this local array from now on, and nothing is in it.
void note_local_array(const local_array& array);

/// The rewriter writes this behind a local array without initial values, in a function with a
/// barrier: the check build sees whether a thread reads from its own copy what another thread has
/// written to its own, as happens where __shared__ was forgotten.
template <class T>
CPU_DEVICE_UNWATCHED inline void local_birth([[maybe_unused]] T& array,
                                             [[maybe_unused]] const char* name,
                                             [[maybe_unused]] const char* file,
                                             [[maybe_unused]] int line) {
#ifdef CPU_DEVICE_CHECK
  using element = std::remove_all_extents_t<T>;
  if constexpr (std::is_trivially_default_constructible_v<element>)
    note_local_array({const_cast<const void*>(static_cast<const volatile void*>(&array)),
                      sizeof array, sizeof(element), name, file, line});
#endif
}

}  // namespace cpu_device
