// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What happens on the CPU device, as a stream of events, and what listens to it. The engine and the
// API publish; the race check, the counters, the trace, fault injection and tests observe. Nothing
// is built for an event without listeners: publishers ask listening() first. (The watchdog does not
// listen: it reads the progress of the workers, since an event for each thread that begins would
// cost too much.)
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "cpu_device/vector_types.h"

namespace cpu_device {

/// The kinds of events, as bits of a set.
enum class event_kind : unsigned {
  launch = 1U << 0,       ///< a kernel begins to run, and has run
  block = 1U << 1,        ///< a block begins, and has ended
  barrier = 1U << 2,      ///< threads of a block, a warp or a grid have met
  access = 1U << 3,       ///< a kernel reads or writes memory (check build only)
  fence = 1U << 4,        ///< __threadfence() and its like (check build only)
  allocation = 1U << 5,   ///< memory is allocated, and freed
  copy = 1U << 6,         ///< bytes are copied or set; a number that cuBLAS returns is copied, too
  call = 1U << 7,         ///< the program calls the API, and the call returns
  work = 1U << 8,         ///< a piece of a stream's work begins to run, and has run
  mark = 1U << 9,         ///< the program names or marks something with NVTX
  async_copy = 1U << 10,  ///< a copy to be waited for is started, and found done: bulk ones, too
  fetch = 1U << 11,       ///< a kernel reads through a texture object (check build only)
  by_host = 1U << 12,     ///< the host accesses memory that CUDA allocated (check build only)
};
using event_set = unsigned;  ///< event_kinds, joined with |
constexpr event_set operator|(event_kind a, event_kind b) {
  return static_cast<event_set>(a) | static_cast<event_set>(b);
}
constexpr event_set operator|(event_set a, event_kind b) { return a | static_cast<event_set>(b); }

/// The scope of an atomic, a fence or a barrier: which threads are sure to see it.
enum class event_scope : std::uint8_t { warp, block, device, system };

struct launch_event {
  const char* kernel;
  const char* file;  ///< where it was launched
  int line;
  dim3 grid, block;
  std::size_t shared_bytes;  ///< dynamic shared memory of a block
  int device;
  const void* stream;  ///< the handle that the launch named; null: the default stream
  bool cooperative;
  int status;  ///< when it has run: its cudaError_t
};

struct block_event {
  const launch_event& launch;
  uint3 index;           ///< blockIdx
  std::uint32_t serial;  ///< a number that no other block of the program has
  bool given_up;         ///< when it has ended: in the middle, by a fault or the like
};

/// Threads have all arrived, before any of them continues: at __syncthreads() and the like, in a
/// warp function with a mask (one of a single lane, too), at the barrier of a grid (once for each
/// of its blocks). A cuda::barrier is made of atomics, and no event.
struct barrier_event {
  std::uint32_t block;  ///< the block's serial number
  event_scope scope;    ///< warp, block, or device: a grid barrier
  unsigned threads;     ///< of this block that met
  const char* file;     ///< where the last one of them came to it
  int line;
  const char* function;  ///< of a warp: its name, "__shfl_sync", or "reduce()" of a group; else ""
  unsigned warp;         ///< of a warp: its number in the block; else 0
};

struct access_event {
  std::uintptr_t address;
  std::size_t bytes;
  bool writes, atomic, shared;
  bool in_parts;         ///< a structure or the like, which a GPU accesses in several parts
  event_scope scope;     ///< of an atomic
  std::uint32_t block;   ///< the block's serial number
  std::uint32_t thread;  ///< its number in the block
  const void* pc;        ///< the instruction
};

/// An access of host code to memory that kernels can access, too: managed or pinned.
struct host_access_event {
  std::uintptr_t address;
  bool writes, atomic;
};

/// A texel that a thread reads through a texture object: none outside of the texture, and for a
/// filter an event for each of its neighbours. Such a read is no access_event.
struct fetch_event {
  const void* texel;
  std::size_t bytes;            ///< of the texel
  std::uint32_t block, thread;  ///< the block's serial number, and the thread's in it
};

struct fence_event {
  event_scope scope;
  std::uint32_t block, thread;
  const void* pc;
};

/// A copy that the thread itself waits for: cp.async, the pipeline primitives, a pipeline of one
/// thread, cooperative_groups::memcpy_async. Longer ones are an event for every 16 bytes.
struct async_copy_event {
  const void* to;
  std::size_t bytes;            ///< with those that are filled with zeros
  std::uint32_t block, thread;  ///< the block's serial number, and the thread's in it
};

/// A bulk copy between global and shared memory: a thread starts it, and the copy engine does it
/// while all threads continue.
struct bulk_copy_event {
  const void* shared;
  std::size_t bytes;  ///< in shared memory, with those that lie outside of the array
  bool to_global;
  unsigned dimensions;          ///< of its tensor map; 0: it has none
  std::uint32_t block, thread;  ///< as above; the thread that started it
};

/// What memory is, and so who may use it: a device, both sides, or the host and (mapped) devices.
enum class memory_kind { device, managed, pinned, registered, symbol };

struct allocation_event {
  const void* address;
  std::size_t bytes;
  memory_kind kind;
  int device;
  const char* function;  ///< "cudaMalloc"; null where it is not known
};

/// Slices of rows of bytes that follow each other. One row has neither pitch nor slice.
struct copied_rows {
  std::size_t width_bytes;
  std::size_t height = 1, depth = 1;
  std::size_t pitch = 0;  ///< bytes from a row's start to the next one's
  std::size_t slice = 0;  ///< bytes from a slice's start to the next one's
};

struct copy_event {
  const void* to;
  const void* from;  ///< null: the bytes are set
  std::size_t bytes;
  int kind;  ///< cudaMemcpyKind, with the direction that it really has
  const void* stream;
  copied_rows rows;  ///< where the bytes lie at `from`
};

struct call_event {
  const char* function;  ///< "cudaMemcpy", "cublasSgemm"
  std::uint64_t number;  ///< counts the calls that fail_any_call() counts, from 1; 0 for others
  int usual_error;       ///< an error that this function is known to give
  int status;            ///< when it returns
};

/// What a call has put into a stream, or a node of a graph, within the work that is the graph's
/// launch. The launch and the copies that it consists of are published in between.
struct work_event {
  const void* stream;    ///< its handle; null: a default stream
  std::uint64_t number;  ///< of the stream: no other stream of the program has it
  int device;
  const char* name;  ///< of the call, or "host node" and the like
};

struct mark_event {
  enum class what : std::uint8_t {
    push,         ///< a range of this host thread begins
    pop,          ///< its innermost range ends
    start,        ///< a range begins that any thread may end, by its number
    end,          ///< the range of that number ends
    point,        ///< nvtxMark
    name_thread,  ///< `number` is the operating system's
    name_stream,  ///< `number` is the handle
  };
  what kind;
  const char* text;  ///< UTF-8; empty for `pop` and `end`
  std::uint64_t number;
};

/// Watches the events of the kinds that it was added for. Events of blocks, barriers, accesses,
/// fences, fetches and asynchronous copies come from several OS threads at a time, and so do marks;
/// the others one at a time. What an observer calls of the API itself is not published.
class observer {
 public:
  virtual ~observer() = default;

  virtual void launch_begins(const launch_event&) {}
  virtual void launch_ends(const launch_event&) {}
  virtual void block_begins(const block_event&) {}
  virtual void block_ends(const block_event&) {}
  virtual void barrier_passed(const barrier_event&) {}
  virtual void accessed(const access_event&) {}
  virtual void fenced(const fence_event&) {}
  virtual void fetched(const fetch_event&) {}
  virtual void host_accessed(const host_access_event&) {}
  virtual void async_copy_started(const async_copy_event&) {}
  virtual void async_copy_done(const async_copy_event&) {}
  virtual void bulk_copy_started(const bulk_copy_event&) {}
  virtual void bulk_copy_done(const bulk_copy_event&) {}
  virtual void allocated(const allocation_event&) {}
  virtual void freed(const allocation_event&) {}
  virtual void copied(const copy_event&) {}
  /// A result other than 0 makes the call fail with that status, before it has done anything. A
  /// call that frees something (cudaFree …) does so first.
  virtual int call_begins(const call_event&) { return 0; }
  virtual void call_ends(const call_event&) {}
  virtual void work_begins(const work_event&) {}
  virtual void work_ends(const work_event&) {}
  virtual void marked(const mark_event&) {}
};

/// Adds an observer, or changes the kinds that it is told of. Only while no kernel runs.
void add_observer(observer& who, event_set kinds);
/// Does nothing for one that was not added. Only while no kernel runs.
void remove_observer(observer& who);

extern std::atomic<event_set> wanted_events;  ///< the kinds that have listeners
/// Whether this kind of event has listeners.
inline bool listening(event_kind kind) {
  return (wanted_events.load(std::memory_order_relaxed) & static_cast<event_set>(kind)) != 0;
}

}  // namespace cpu_device
