// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the CPU device offers beyond CUDA: thread orders, what is still allocated, its reports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

struct cudaDeviceProp;

namespace cpu_device {

/// The order in which the threads of a block (and the blocks of a grid) take their turns.
/// A kernel with a missing barrier is often right in one order and wrong in another.
enum class thread_order { forward, reverse, random };

/// Holds for the launches that follow. The environment variable CPU_DEVICE_ORDER
/// (forward, reverse, random or random:SEED) sets the first one.
void set_thread_order(thread_order order, unsigned seed = 0);

/// How asynchronous work is run. `eager`: at once. `deferred`: as late as CUDA allows, so that a
/// missing synchronisation shows. `interleaved`: late, too, and then one piece of work of each
/// stream in turn, as far as CUDA allows, so that it shows when two streams use the same memory.
/// `newest_first` and `oldest_first`: late, and then always the stream that was created last
/// (first) of those that can continue. So one stream runs as far ahead of another as CUDA allows,
/// and with both of them a missing cudaStreamWaitEvent shows, whichever of two streams should have
/// waited. CPU_DEVICE_STREAMS (eager, deferred, …) sets the first one.
enum class stream_policy { eager, deferred, interleaved, newest_first, oldest_first };
void set_stream_policy(stream_policy policy);

/// What becomes of barriers and warp functions that some threads never reach. `strict`: the launch
/// fails with a report. `hardware`: as on a GPU since compute capability 7.0. Threads that have
/// left the kernel are not waited for, and arrivals at different __syncthreads() of a block count
/// together (which CUDA leaves undefined, and GPUs do). A warning names each place once. Holds for
/// the launches that follow; CPU_DEVICE_BARRIERS (strict, hardware) sets the first one.
enum class barrier_mode { strict, hardware };
void set_barrier_mode(barrier_mode mode);

/// Which devices can access each other's memory (cudaDeviceCanAccessPeer), as in a machine whose
/// GPUs are connected in groups: `devices` neighbours in number form one, so 2 is for the pairs 0
/// and 1, 2 and 3, …; 1 is for none, and 0 for all devices. Access that was enabled before is kept.
/// CPU_DEVICE_PEER_GROUP sets the first value, which is 0 otherwise.
void set_peer_group(unsigned devices);

/// Device, managed and pinned host allocations that have not been freed, over all devices.
std::size_t live_allocations();
std::size_t live_bytes();
/// That of them which was made last, in words, with the line that made it; empty if there is none.
std::string newest_allocation();

/// Which blocks of a launch run, from now on: `count` of them from number `first` on, counted along
/// x first, then y, then z. The others are left out, as if they had nothing to do. So a kernel
/// whose blocks do not need each other shows what a few of them do at a size at which all would
/// take hours. Launches whose blocks wait for each other (cooperative ones, and clusters) run all.
/// While blocks are left out, the time limit is four times as long: at such a size a thread may
/// compute for long before it ends.
constexpr std::uint64_t kEveryBlock = ~std::uint64_t{0};
void set_blocks_that_run(std::uint64_t first = 0, std::uint64_t count = kEveryBlock);

/// What each byte of new memory (of a device, managed or pinned) contains until it is written, from
/// now on: 0xFF at first, which is NaN or -1. Testing a program with several bytes shows whether it
/// depends on one of them.
void fill_new_memory_with(unsigned char byte);

/// What the lanes of a warp get from each other, from now on: `no_products` has tensor cores
/// (nvcuda::wmma) multiply nothing, so that they give the sums that they were given; `no_exchange`
/// has shuffles and reductions of a warp find a 0 in each lane. A program whose results are the
/// same then does not have them from there. Votes and __match_any_sync() stay as they are.
enum class lanes_get { everything, no_products, no_exchange };
void set_lanes_get(lanes_get what);

/// Whether the lanes of a warp are never together by chance, from now on: then __activemask() and
/// cooperative_groups::coalesced_threads() name the calling lane alone, as they may on a GPU since
/// compute capability 7.0. At first they name all lanes that come to the same place. Returns what
/// it was before.
bool set_lanes_apart(bool apart);

/// How the runtime answers queries about pinned memory from now on. `unregistered`:
/// cudaPointerGetAttributes() does not know it. `elsewhere`: devices use another address for it,
/// and cudaHostGetFlags() reports it as portable, whatever flags it was allocated with. A program
/// that still reports something else has not queried the runtime. (The other addresses are in a
/// block of 1 MiB that the host does not read, so results that kernels write there are missing.)
enum class said_of_pinned_memory { the_truth, unregistered, elsewhere };
void set_said_of_pinned_memory(said_of_pinned_memory what);

/// What cudaGetDeviceProperties() reports from now on, and so what cudaDeviceGetAttribute() does,
/// for every device or only for device `of`; null: the truth again. The caller keeps `*what` alive.
constexpr int kEveryDevice = -1;
void set_said_of_devices(const cudaDeviceProp* what, int of = kEveryDevice);

/// The same for one attribute (a cudaDeviceAttr), such as a clock rate, that no property has. The
/// value is copied; null: the truth again.
void set_said_of_attribute(int attribute, const int* value, int of = kEveryDevice);

/// Memory pools get what they reserve in pieces of so many bytes, from now on: at first byte for
/// byte, on a GPU some MiB. Nothing but what a pool says of itself depends on it.
void set_pool_piece(std::uint64_t bytes);

/// The clock that events take their times from, from now on, in nanoseconds; null: the machine's
/// again. So what cudaEventElapsedTime() returns can be known before.
void set_event_clock(std::int64_t (*nanoseconds)());

/// What else a program creates and must destroy. (The memory of arrays is among the allocations,
/// too.)
enum class object_kind {
  registration,  // of host memory: cudaHostRegister
  memory_pool,
  stream,
  event,
  graph,
  executable_graph,
  array,
  texture_object,  // whether or not its memory is still there
  surface_object,
  graphics_resource,  // of OpenGL
  opened_memory,      // of other processes: each cudaIpcOpenMemHandle
  library_handle,     // of cuBLAS, cuBLASLt, cuBLAS-Xt and cuRAND
};
constexpr object_kind kLastObjectKind = object_kind::library_handle;
/// How many there are that have not been destroyed, over all devices.
std::size_t live_objects(object_kind kind);
const char* name_of(object_kind kind);  // "streams"

/// Makes the n-th call of a function, counted from now on (1 is the next one), fail with `status`
/// (a cudaError_t, or the status of a library) without doing anything. A launch by <<<>>> is a call
/// of "cudaLaunchKernel": cudaGetLastError() finds its error. A call that frees something
/// (cudaFree, cudaStreamDestroy …) still does so and then fails, so that nothing is leaked.
/// Injected errors do not break the device. Throws std::invalid_argument for a name of no function
/// that the program is linked with, for n = 0 and for status 0.
///
/// The environment variable CPU_DEVICE_FAIL does the same from the first call on:
/// function:n:error,function:n:error …, errors by name or number; the function "any" is any
/// (and needs no error).
void fail_call(const std::string& function, std::uint64_t n, int status);
/// Makes the n-th call of any function fail with an error that this function is known to return.
/// Only calls whose failure a program must notice are counted: not those that free something, and
/// not cudaGetLastError() and cudaPeekAtLastError().
void fail_any_call(std::uint64_t n);
/// Forgets the faults that have not fired.
void clear_faults();
/// How many calls have failed by injection since the program began.
std::size_t faults_fired();
/// How many calls that fail_any_call() counts the program has made.
std::uint64_t calls_made();

/// How many OS threads run blocks. CPU_DEVICE_WORKERS sets it; otherwise the cores we may use.
unsigned worker_count();

/// Reports are the mistakes that the CPU device found in a program (a barrier that not all
/// threads reach, an access outside an allocation, a race ...). They are printed to stderr.
std::size_t report_count();
std::string last_report();

/// A race between two lines, and some other mistakes, are reported the first time that they happen.
/// From now on that is the first time again. Tests ask for it, so that each fails by its own.
void report_again();

/// Whether the accesses of this program's kernels are watched (-fsanitize=thread). That takes many
/// times as long, so work that is only large can be left out.
bool is_check_build();

/// What the accesses of a kernel would cost on a GPU. Only the check build counts
/// (-fsanitize=thread). `variable_load` reads a __constant__ or a __device__ variable: the two
/// cannot be distinguished.
enum class access_kind {
  global_load,
  global_store,
  global_atomic,
  shared_load,
  shared_store,
  shared_atomic,
  variable_load
};
const char* name_of(access_kind kind);  // "global load"

/// The accesses of one kind and size in one line of one kernel, over all launches. A request is an
/// instruction executed once for the lanes of a warp that take part.
struct access_counters {
  std::string kernel;
  std::string file;  // empty where it is not known
  int line = 0;
  access_kind kind = access_kind::global_load;
  unsigned bytes = 0;  // that a lane accesses
  std::uint64_t requests = 0;
  std::uint64_t lanes = 0;           // that took part in the requests, summed up
  std::uint64_t lanes_of_warps = 0;  // that could have
  // Global memory (and variables): 32-byte sectors touched; as few as would hold the bytes that
  // were used; those bytes, each counted once per request.
  std::uint64_t sectors = 0, ideal_sectors = 0, bytes_used = 0;
  // Shared memory: passes over the 32 banks; as few as accesses of this size need.
  std::uint64_t wavefronts = 0, ideal_wavefronts = 0;
  // Atomics: rounds, if updates of one address (in shared memory: of one bank) take turns. Loads of
  // variables: distinct words; constant memory serves one at a time.
  std::uint64_t turns = 0;
  std::uint64_t same_address = 0;  // lanes that another lane of the request was before at a word
  std::uint64_t not_counted = 0;   // accesses of single lanes for which there was no memory
};

/// Counts from now on; call it, and the next two, while no kernel runs. The environment variable
/// CPU_DEVICE_COUNTERS=FILE counts from the start and writes a table when the program ends. Nothing
/// happens in a program that is no check build.
void count_accesses(bool on);
/// Sorted by kernel, file, line and kind.
std::vector<access_counters> read_counters();
void reset_counters();

/// cuBLAS multiplies matrices with OpenBLAS where it was found, and with plain loops otherwise or
/// after use_blas_library(false). Returns whether OpenBLAS is used from now on.
bool use_blas_library(bool wanted);

}  // namespace cpu_device
