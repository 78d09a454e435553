// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Records the work that the device is given: for required_work.hpp, which judges it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lab/time_kernel.hpp"
#include "lab/timer.hpp"

namespace lab::testing {

/// What the device did during a call.
struct recorded_work {
  struct kernel {
    std::string name;
    std::uint64_t blocks = 0, threads_per_block = 0, shared_bytes = 0;  ///< shared_bytes: dynamic
    unsigned grid_x = 0, grid_y = 0;                                    ///< blocks
    unsigned block_x = 0, block_y = 0;                                  ///< threads of a block
    int device = 0;
    const void* stream = nullptr;
    std::size_t host_thread = 0;        ///< it began in: numbered from 0, of those with kernels
    bool of_library = false;            ///< cub's
    std::uint64_t barriers = 0;         ///< of the block that has the most
    std::uint64_t barriers_of_all = 0;  ///< of all blocks together
    std::uint64_t grid_barriers = 0;    ///< of `barriers`: those of the whole grid
    std::uint64_t warp_functions = 0;   ///< shuffles, votes and their like: once for each warp's
    std::uint64_t warp_barriers = 0;    ///< of `warp_functions`: those that only wait
    std::uint64_t votes = 0;            ///< of `warp_functions`: ballots, and whether any or all
    std::uint64_t reductions = 0;       ///< of `warp_functions`: cooperative_groups::reduce()
    std::uint64_t fragment_loads = 0;   ///< of `warp_functions`: wmma::load_matrix_sync()
    std::uint64_t multiplications = 0;  ///< of `warp_functions`: wmma::mma_sync()
    std::uint64_t async_bytes = 0;    ///< copied while the thread goes on, until it waits for them
    std::uint64_t bulk_bytes = 0;     ///< of bulk copies to shared memory that have no tensor map
    std::uint64_t tensor_bytes = 0;   ///< of those with one, including what is outside of its array
    std::uint64_t tensor_copies = 0;  ///< how many those are
    std::uint64_t copying_blocks = 0;  ///< that start bulk copies to shared memory, of any kind
    // Watched:
    std::uint64_t reads = 0, writes = 0;      ///< bytes of global memory
    std::uint64_t plain_writes = 0;           ///< of `writes`: by stores that are no atomics
    std::uint64_t reads_of_data = 0;          ///< of `reads`: by plain loads from the largest
                                              ///< allocations, where no counters are
    std::uint64_t shared = 0, atomics = 0;    ///< accesses; atomics: in global memory
    std::uint64_t shared_atomics = 0;         ///< of `shared`
    std::uint64_t system_atomics = 0;         ///< of `atomics`: for the host, too
    std::uint64_t fences = 0;                 ///< of all threads
    std::uint64_t bytes_a_load = 0;           ///< of the widest from global memory
    std::uint64_t bytes_a_shared_load = 0;    ///< likewise
    std::uint64_t atomic_places = 0;          ///< different addresses in global memory of atomics
    std::uint64_t accesses = 0, busiest = 0;  ///< to global memory: of all threads, of the busiest
    std::uint64_t plain = 0, busiest_of_blocks = 0;  ///< no atomics: of all, of the busiest of each
    std::uint64_t threads = 0, busy_blocks = 0;      ///< that access any memory
    std::uint64_t loading_threads = 0;               ///< of those: that load from global memory
    std::uint64_t last_thread = 0;                   ///< of those, the highest number in its block
    std::uint64_t atomic_threads = 0;                ///< that use atomics in global memory
    std::uint64_t writing_threads = 0;               ///< of `threads`: that write to any memory
    std::uint64_t shared_of_busiest = 0;             ///< of `shared`: of the busiest of each block
    std::uint64_t fetches = 0, fetching_threads = 0;  ///< bytes of texels; threads that read some
    std::uint64_t exchanges = 0;  ///< of `shared`: of what another thread has written
    /// A thread's, at most: loads of global memory less its stores, and less its stores in shared
    /// memory before the last barrier of its block.
    std::uint64_t loads_ahead = 0;
    /// Of `shared`: reads of a thread that has loaded something from global memory and has stored
    /// nothing in shared memory since.
    std::uint64_t reads_while_loading = 0;
    /// Of `shared`: reads by the first warp of a block, before its last warp function; and of those
    /// the ones before the last warp function of the first half.
    std::uint64_t reads_of_warp = 0, reads_of_warp_early = 0;
    std::uint64_t copies_under_way = 0;  ///< a thread's, at most, while it reads shared memory
    std::uint64_t shared_meanwhile = 0;  ///< reads while a bulk copy may be under way
    std::uint64_t copies_meanwhile = 0;  ///< bulk copies that may be, while there are such reads
    std::uint64_t all_threads() const { return blocks * threads_per_block; }
  };
  struct copy {
    std::size_t bytes = 0;
    int kind = 0;  ///< a cudaMemcpyKind: the direction that it really has
    const void* stream = nullptr;
    std::size_t kernels = 0;    ///< of `kernels`, how many had begun before it
    bool pinned = false;        ///< the host's side of it is pinned memory
    std::uint64_t content = 0;  ///< to the host, and to the device up to 1 MiB: a hash of the
                                ///< bytes, other than 0
    std::size_t zeros = 0;      ///< to the host: how many of its units of 8 bytes are 0
    std::size_t addresses = 0;  ///< likewise: how many are addresses in memory of the device
    int from_device = 0, to_device = 0;  ///< from device to device
  };
  /// Requests to memory as a GPU counts them, of one kind ("global load").
  struct cost {
    std::uint64_t requests = 0, sectors = 0, ideal_sectors = 0, wavefronts = 0,
                  ideal_wavefronts = 0, turns = 0;
  };

  std::vector<kernel> kernels;
  std::vector<copy> copies;                ///< memset is none
  std::vector<std::size_t> device_memory;  ///< bytes of each allocation
  std::vector<std::size_t> host_memory;    ///< pinned or managed: both sides reach it
  struct pinned_memory {
    std::size_t bytes = 0;
    unsigned flags = 0;  ///< as cudaHostGetFlags says
    int device = 0;      ///< that was current
  };
  std::vector<pinned_memory> pinned;      ///< of host_memory: by cudaHostAlloc, cudaMallocHost
  std::map<std::string, unsigned> calls;  ///< of the API, by name
  /// Calls in order; "cudaMemcpy to the host" has its own name. "[ NAME" and "]": a range of NVTX
  /// begins, and ends; "nvtxNameCudaStream": a stream gets a name. "rank 2": what follows are that
  /// rank's, with those of MPI in an MPI_CHECK.
  std::vector<std::string> sequence;
  std::map<std::string, std::uint64_t> named_streams;  ///< by NVTX: their handles, as numbers
  std::size_t host_threads = 0;                        ///< that called the API
  std::map<std::string, std::uint64_t> threads_of;     ///< that called a function of it, by name
  /// Allocations in stream order: how many existed at the same time, at most, when the streams
  /// reached them. Only under policies that defer the work of streams.
  std::uint64_t stream_ordered = 0;
  /// Calls and their streams, in the order in which the streams reached them. Likewise.
  std::vector<std::pair<std::string, const void*>> in_streams;
  std::uint64_t not_accessed = 0;  ///< watched: allocations that no kernel accessed
  /// Watched: the host's accesses to managed memory while a kernel may be running, from a launch to
  /// the next call that waits (or in another thread of the host).
  std::uint64_t host_atomics = 0, host_plain = 0;
  std::map<std::string, cost> costs;  ///< watched; empty where the counters had no room
  std::size_t received_by_mpi = 0;    ///< bytes that came to ranks of an MPI job, by MPI
  /// Where the recording pretends how long things take (see below): of how many that was.
  std::uint64_t pretended_kernels = 0, pretended_copies = 0, pretended_memsets = 0;
  bool watched = false;

  std::uint64_t bytes_copied(int kind) const;
  /// A value for what was copied to the host or, by copies of up to 1 MiB, to the device: the same
  /// for two calls if the bytes are the same, whatever the order of the copies.
  std::multiset<std::uint64_t> came_back() const;
  std::multiset<std::uint64_t> went_there() const;
  /// Streams that kernels ran in, and devices that they ran on.
  std::size_t streams() const;
  std::size_t devices() const;
};

namespace detail {
/// Records while it lives. If it pretends times, then by CUDA's events the kernels and the routines
/// of a library take as many milliseconds as it was told (number n kernel_ms[n], those after the
/// last one as long as that one), each copy between host and device a million seconds (or likewise
/// what it was told: of those to the device number n takes copy_ms[n], and so of those to the
/// host), each memset as long as it was told, and everything else no time. And the first kernels
/// really take a millisecond, so that a host's clock shows something. Each launch is made once.
class recording {
 public:
  static constexpr double kKernelMs = 1e3, kCopyMs = 1e9, kMemsetMs = 1;
  static constexpr std::uint64_t kSlowKernels = 20;

  /// No kernel_ms: it pretends nothing.
  explicit recording(std::vector<double> kernel_ms = {}, std::vector<double> copy_ms = {kCopyMs},
                     double memset_ms = 0);
  recording(const recording&) = delete;
  recording& operator=(const recording&) = delete;
  ~recording();
  recorded_work finish();

  struct recorder;

 private:
  const repeated_timing once_{0};
  std::unique_ptr<recorder> recorder_;
};

/// While it lives, everything that is copied to the host is zeros, in device memory, too; and what
/// kernels write into memory that both sides can access is gone when they end.
///
/// Or only what is new: the units of 4 bytes that the host has copied to the device meanwhile do
/// come back, wherever they are then (and memory that both sides can access is left alone).
class nothing_comes_back {
 public:
  enum class except { nothing, what_was_sent };

  explicit nothing_comes_back(except kept = except::nothing);
  nothing_comes_back(const nothing_comes_back&) = delete;
  nothing_comes_back& operator=(const nothing_comes_back&) = delete;
  ~nothing_comes_back();
  bool made_a_difference() const;  ///< something other than zeros would have come back

  struct eraser;

 private:
  std::unique_ptr<eraser> eraser_;
};

/// While it lives, other threads seem to come between the atomic accesses of a thread: a word of
/// global memory that holds `before` holds the first of `values` as soon as an atomic function is
/// about to access it, then at the next access the second one, and so on, unless the thread has
/// stored something else there. Only in the watched build: others do not see each access.
class others_come_between {
 public:
  others_come_between(std::uint32_t before, const std::vector<std::uint32_t>& values);
  others_come_between(std::uint64_t before, const std::vector<std::uint64_t>& values);
  others_come_between(const others_come_between&) = delete;
  others_come_between& operator=(const others_come_between&) = delete;
  ~others_come_between();
  std::size_t came() const;  ///< how many of the values it was

  struct intruder;

 private:
  std::unique_ptr<intruder> intruder_;
};

/// While it lives, each launch but the first one finds `after` where `before` was copied to. So a
/// launch that is repeated to measure its time gets other input than the launch before it had, and
/// is wrong if it uses what that one has left.
class other_input {
 public:
  other_input(std::vector<std::uint32_t> before, std::vector<std::uint32_t> after);
  other_input(const other_input&) = delete;
  other_input& operator=(const other_input&) = delete;
  ~other_input();
  bool came() const;  ///< a launch has found it

  struct changer;

 private:
  std::unique_ptr<changer> changer_;
};

/// While it lives, `does` is done when the program calls `function` for the n-th time (1 is the
/// first), or each time, before the call does anything: something that takes its time, or has the
/// device go on. `function` may be several: "a|b". Each launch is made once.
class before_call {
 public:
  static constexpr unsigned kEachTime = 0;

  before_call(std::string function, unsigned n, std::function<void()> does);
  before_call(const before_call&) = delete;
  before_call& operator=(const before_call&) = delete;
  ~before_call();

  struct waiter;

 private:
  const repeated_timing once_{0};
  std::unique_ptr<waiter> waiter_;
};

/// While it lives, each call of these functions ("a|b" is both) takes a while longer, also in the
/// ranks of an MPI job. There they may be MPI's, in an MPI_CHECK.
class slow_calls {
 public:
  static constexpr double kMilliseconds = 10;
  inline static slow_calls* active = nullptr;

  explicit slow_calls(std::string functions)
      : functions_(std::move(functions)),
        waiter_(functions_, before_call::kEachTime, [this] { wait(); }) {
    active = this;
  }
  slow_calls(const slow_calls&) = delete;
  slow_calls& operator=(const slow_calls&) = delete;
  ~slow_calls() { active = nullptr; }

  const std::string& functions() const { return functions_; }
  /// How much longer it has become, for all calls together; of an MPI job, for those of one rank.
  double milliseconds() const { return spent_; }
  void wait() {
    const host_timer since;
    while (since.milliseconds() < kMilliseconds) {
    }
    spent_ += since.milliseconds();
  }
  void rank_has_waited(double milliseconds) { spent_ = std::max(spent_.load(), milliseconds); }

 private:
  std::string functions_;
  std::atomic<double> spent_ = 0;
  before_call waiter_;
};

// The ranks of an MPI job (lab/mpi_job.hpp) are other processes. The record here includes what
// their devices do, as if device d of rank r were device 64 * r + d of this process; and they get
// only zeros back while this process does.

/// While it lives, the ranks are told this of the MPI library (lab::mpi::cuda_support). Memory of
/// the CPU device is as good for MPI as any other.
class pretended_cuda_support {
 public:
  pretended_cuda_support(bool compiled, bool running);
  pretended_cuda_support(const pretended_cuda_support&) = delete;
  pretended_cuda_support& operator=(const pretended_cuda_support&) = delete;
  ~pretended_cuda_support();
};

/// A call of a rank.
struct rank_call {
  std::string name;
  bool releases = false;  ///< it gives something back
};

/// While it lives, call number `number` of CUDA, counted from 0, fails in each rank with
/// cudaErrorOperatingSystem, or in one. (One of NCCL fails with ncclInternalError.)
class rank_fault {
 public:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  static constexpr int kEachRank = -1;

  explicit rank_fault(std::size_t number = kNone, int rank = kEachRank);
  rank_fault(const rank_fault&) = delete;
  rank_fault& operator=(const rank_fault&) = delete;
  ~rank_fault();

  std::size_t number() const { return number_; }
  int rank() const { return rank_; }
  /// What the ranks have called, once they have answered. By rank.
  std::map<int, std::vector<rank_call>> calls() const;
  void has_called(int rank, std::vector<rank_call> calls) { calls_[rank] = std::move(calls); }

 private:
  std::size_t number_;
  int rank_;
  std::map<int, std::vector<rank_call>> calls_;
};
}  // namespace detail

}  // namespace lab::testing
