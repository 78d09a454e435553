// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The engine: OS threads ("workers") that run blocks, and the stacks on which the threads of a
// block wait for each other. Internal to the CPU device.
#pragma once

#include <time.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/events.hpp"
#include "cpu_device.h"
#include "cpu_device/execution.h"
#include "cpu_device/synchronization.h"

namespace cpu_device {

struct fiber;

/// Where the blocks of a cooperative launch wait for each other, or those of a cluster.
struct grid_meeting {
  struct place {  // of one block
    const char* file = nullptr;
    int line = 0;
    std::uint32_t generation = 0;  // of the meeting it came to, from 1
    bool left = false;
  };
  explicit grid_meeting(std::uint32_t block_count) : blocks(block_count), places(block_count) {}

  std::uint32_t blocks;
  std::atomic<std::uint64_t> counts{0};      // blocks that wait; times 2^32: blocks that have left
  std::atomic<std::uint32_t> generation{1};  // a futex: counts the meetings
  std::atomic<bool> broken{false};           // a block failed, or some will never come
  std::atomic<bool> incomplete{false};       // ... the latter
  std::atomic<std::uint32_t> checked_at{0};  // hooks.new_time() when all had come
  std::vector<place> places;                 // by the blocks' linear numbers, or ranks
};

struct worker;

/// A cluster whose blocks run, or have run: each on an OS thread of its own.
struct running_cluster {
  explicit running_cluster(unsigned blocks) : meeting(blocks), members(blocks) {}

  grid_meeting meeting;
  std::vector<std::atomic<worker*>> members;  // by rank: who runs the block; null: it has not begun
  std::atomic<std::uint32_t> begun{0};        // a futex: how many have begun
  std::atomic<std::uint32_t> left{0};         // bit r: the block of rank r has left
  std::shared_ptr<void> watch;                // what the owner of the hooks remembers
};

/// The clusters of a launch.
struct launch_clusters {
  launch_clusters(dim3 cluster, dim3 grid)
      : dim(cluster),
        count(grid.x / cluster.x, grid.y / cluster.y, grid.z / cluster.z),
        size(cluster.x * cluster.y * cluster.z) {}

  dim3 dim;       // blocks of a cluster
  dim3 count;     // clusters of the grid
  unsigned size;  // blocks of a cluster
  std::mutex mutex;
  std::map<std::uint64_t, std::shared_ptr<running_cluster>> running;  // by number
  bool broken = false;  // a block failed: no cluster will be complete
};

/// A block's part in its cluster.
struct cluster_member {
  std::shared_ptr<running_cluster> all;
  std::uint64_t cluster = 0;  // its number
  unsigned rank = 0;
  // The cluster's barriers are numbered from 1, as the generations of its meeting.
  std::uint32_t barrier = 1;      // that its threads come to next
  std::uint32_t since_epoch = 0;  // the block_epoch since then
  std::uint32_t passed = 0;       // that the first of its threads has passed
  unsigned arrived = 0;           // threads, at `barrier`
  const char* file = nullptr;     // where the first of them arrived
  int line = 0;
  std::vector<std::uint32_t> at;  // of each thread: the barrier it has arrived at; 0: none
  std::vector<fiber*> waiting;    // threads, for barrier `awaited`
  std::uint32_t awaited = 0;
};

/// A kernel on its way through all of its blocks.
struct running_launch {
  launch_site site;
  dim3 grid, block;
  std::size_t shared_bytes = 0;
  void (*run)(const void*) = nullptr;
  const void* arguments = nullptr;
  thread_order order = thread_order::forward;
  unsigned seed = 0;
  int device = 0;
  const void* stream = nullptr;  // the handle that the launch named
  bool hardware_barriers = false;
  bool wakes_spinners = false;  // threads may be let go while another one spins

  std::uint64_t block_count = 0;
  std::uint64_t first_wanted = 0, count_wanted = kEveryBlock;  // the other blocks are left out
  std::uint32_t first_serial = 1;  // block b of this launch has the serial number first_serial + b
  std::uint64_t block_step = 1, block_first = 0;  // random order: a walk that meets every block
  std::uint64_t resident = 0;  // the most blocks that run at the same time; 0: any number
  std::uint64_t together = 1;  // blocks that must run at the same time
  std::atomic<std::uint64_t> workers{0};  // OS threads that run it, or are on their way
  std::atomic<std::uint64_t> next_block{0};
  std::atomic<int> error{0};                  // cudaError_t of the first block that failed
  std::unique_ptr<grid_meeting> meeting;      // of a cooperative launch
  std::unique_ptr<launch_clusters> clusters;  // null: each block is one of its own

  // Blocks that wait for each other: what whoever watches the launch asks for.
  std::atomic<bool> one_by_one{false};  // workers take single blocks from now on
  std::atomic<bool> any_returned{false};
  mutable std::mutex returned_mutex;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> returned;  // ranges that others may run
  std::atomic<int> ended_as{0};  // failure::kind: every block is to be given up for this reason
  bool closed = false;           // no more workers may help; guarded by their pool
  std::mutex stuck_mutex;
  std::map<std::string, std::vector<unsigned>> stuck_blocks;  // of a deadlock: by what they do
};

/// What observers are told of it; `status` is that of a launch that has run.
launch_event event_of(const running_launch& launch, cudaError_t status = cudaSuccess);

/// Blocks of the launch that no worker has begun.
std::uint64_t blocks_to_start(const running_launch& launch);

/// The CUDA thread that waits on a stack. Each wait touches one of these, and those of a block
/// share the first cache with the busy ends of its stacks. So two are in a cache line, and what a
/// wait does not need is in fiber_stack.
struct alignas(32) fiber {
  void* sp = nullptr;
  const char* what = nullptr;  // where the thread waits, for reports
  union {
    const char* file = nullptr;
    const void* pc;  // where it was preempted, when `line` is 0
  };
  int line = 0;
  std::uint16_t thread = 0;  // its place in progress.order
  std::uint16_t stack = 0;   // its place in worker::stacks

  const thread_position& position() const { return progress.order[thread]; }
};
static_assert(sizeof(fiber) == 32);

/// The stack of a fiber.
struct fiber_stack {
  fiber* user = nullptr;
  char* low = nullptr;  // usable: low .. top
  char* top = nullptr;
  char* own_top = nullptr;  // the thread's part of it; above lies what the host keeps there
  unsigned result = 0;      // what a vote or __activemask gives the thread
};

/// Lanes that meet in one warp function.
struct warp_group : warp_exchange {
  bool mixed;  // its lanes came for different functions
  const char* what;
  fiber* waiting[32];  // in order of arrival
  warp_group* next;
};

/// Why a block was given up; the report is written after the jump out of it.
struct failure {
  // abandoned: another block of the cooperative launch failed, and has said so
  enum class kind {
    none,
    stuck,
    stuck_grid,
    stuck_cluster,
    abandoned,
    fault,
    time_limit,
    deadlock,
    misuse
  } what = kind::none;
  int signal = 0;
  void* address = nullptr;  // of the access that failed
  void* pc = nullptr;
  void* sp = nullptr;
  bool misaligned = false;  // the instruction wants a multiple of 16 bytes, as vectors do
  bool no_address = false;  // what was followed cannot be an address
  std::string text;         // misuse: the sentence, and the error that the launch fails with
  cudaError_t error = cudaErrorLaunchFailure;
};

constexpr unsigned kMaxThreads = 1024;

// The stack of a thread, of which the lowest page is a guard. An odd number of pages: with a power
// of two the busy ends of a block's stacks fall into a few sets of the second TLB, and each change
// of stacks walks the page table. That was a fifth of the time of barriers in blocks of 256
// threads.
constexpr std::size_t kStackBytes = 65 * 4096;

/// The states (registers and top of the stack) in which the threads of a block were seen.
class seen_states {
 public:
  /// Knows up to half as many states; then it forgets them all. `slots` is a power of two.
  explicit seen_states(std::size_t slots) : slots_(slots) {}
  /// False if this one was among them.
  bool add(std::uint64_t state);

 private:
  std::vector<std::uint64_t> slots_;
  std::size_t count_ = 0;
};

/// Sends one OS thread a signal after a while, so that it looks at its block once more.
class look_timer {
 public:
  look_timer() = default;
  ~look_timer();
  look_timer(const look_timer&) = delete;
  look_timer& operator=(const look_timer&) = delete;

  /// Does nothing if it is there already. A forked process needs a new one.
  void make_for(int os_thread_id);
  /// Safe in signal handlers. False if there is none.
  bool start(long nanoseconds);

 private:
  timer_t timer_{};
  int process_ = 0;  // that has it; 0: none
};

/// What a worker notes of its block when the launch makes no progress (turns.cpp).
struct turn_notes {
  std::atomic<bool> in_blocks{false};  // inside of the call that abort_sp ends
  std::atomic<bool> asked{false};      // a signal is on its way: signals would pile up
  std::atomic<bool> watched{false};    // threads that spin are to note their states
  std::atomic<unsigned> quiet{0};      // states in a row that had been seen before
  std::atomic<bool> novel{false};      // one had not; taken back by who watches
  std::atomic<unsigned> leave{0};      // for how many ticks: it has just come back from a look
  std::atomic<bool> rests{false};      // nothing else can run: it sleeps for a moment
  std::atomic<long> longest_rest{0};   // in nanoseconds: longer when there are many of them
  std::unique_ptr<seen_states> seen;   // made before `watched` is set
  // At the next barrier, the states of the threads that wait are to be noted; one was new.
  std::atomic<bool> wants_states{false}, fresh{false};
  std::unique_ptr<seen_states> at_barriers;  // made before `wants_states` is set
  look_timer timer;                          // the same
  long pause = 0;                            // until its next look, in nanoseconds
  const thread_position* looked_at = nullptr;
  unsigned looks = 0;        // at this thread, in a row
  const void* pc = nullptr;  // where it stood
  unsigned put_off = 0;      // how often the end of the block has been put off, in a row
};

/// The static __shared__ variables that the running block has met, but for many.
struct shared_declarations {
  struct declaration {
    shared_variable variable;
    const char* names;  // "a, b", of which it is number `index`
    unsigned index;
  };
  unsigned block = 0;  // as block_progress numbers it
  unsigned count = 0;
  std::array<declaration, 8> all{};
};

struct worker {
  // hot: touched at each switch
  fiber* current = nullptr;
  fiber** ready = nullptr;  // ring of kMaxThreads: threads that can go on
  unsigned head = 0, tail = 0;
  fiber** waiting = nullptr;  // threads at the block's barrier, in order of arrival
  unsigned arrived = 0;
  bool mixed = false;  // they wait in different barriers
  int site_line = 0;
  vote vote_kind = vote::none;
  unsigned vote_result = 0;
  unsigned block_epoch = 0;         // barriers that the block has passed
  unsigned warp_epoch[32] = {};     // warp functions that each warp has passed
  unsigned warp_barriers[32] = {};  // those of them that order memory

  fiber base;                       // the thread on the worker's own stack
  std::vector<fiber_stack> stacks;  // the worker's own is the first
  fiber** free_stacks = nullptr;    // `free_count` of them
  unsigned free_count = 0;
  // Where new stacks begin: see start_on_new_stack().
  const fiber* last_starter = nullptr;
  std::uintptr_t last_starter_began = 0, newest_began = 0;
  std::vector<fiber*> at_active_mask;
  warp_group* open_groups[32] = {};
  warp_group* free_groups = nullptr;
  std::vector<std::unique_ptr<warp_group>> all_groups;

  running_launch* launch = nullptr;
  std::vector<thread_position> order;
  dim3 order_block{0, 0, 0};
  thread_order order_kind = thread_order::forward;
  std::uint64_t random = 1;

  std::uint64_t range_next = 0, range_end = 0;  // blocks that it has taken and not begun
  block_progress* progress = nullptr;           // of this OS thread
  turn_notes notes;

  void* abort_sp = nullptr;
  std::atomic<bool> in_kernel{false};
  std::atomic<bool> waits_for_blocks{false};  // in this_grid().sync(), for the other blocks
  failure problem;
  std::uint32_t serial = 0;  // of the running block, among all blocks of all launches
  void* watch = nullptr;     // what the owner of the hooks remembers for this worker
  // The same; null at first, and when the next watched access is to call look_at_access(). A signal
  // handler of this OS thread writes it.
  std::atomic<void*> open_watch{nullptr};
  char* shared_low = nullptr;
  char* shared_end = nullptr;
  shared_declarations declared;
  std::unique_ptr<cluster_member> cluster;  // of the running block; null: it is one of its own
  const char* thread_pointer = nullptr;     // static __shared__ variables are at a distance from it
  unsigned long os_thread = 0;
  int os_thread_id = 0;                    // as the kernel numbers it
  std::atomic<bool> writes_report{false};  // must not be stopped meanwhile
};

/// While it lives, what this worker does is the engine's work, not the kernel's: its accesses are
/// not watched, and no other thread of the block takes its turn.
class engine_work {
 public:
  explicit engine_work(worker& w) : worker_(w), watching_(progress.watching) {
    progress.watching = false;
    worker_.writes_report.store(true, std::memory_order_relaxed);
  }
  ~engine_work() {
    worker_.writes_report.store(false, std::memory_order_relaxed);
    progress.watching = watching_;
  }
  engine_work(const engine_work&) = delete;
  engine_work& operator=(const engine_work&) = delete;

 private:
  worker& worker_;
  bool watching_;
};

/// What the engine calls for those who watch kernels from above. Each one is null until its owner
/// sets it, before main() starts or while no kernel runs.
struct engine_hooks {
  void (*worker_ends)(worker&) = nullptr;       ///< an OS thread with a worker ends
  void (*share_ends)(const worker&) = nullptr;  ///< a worker has run its last block of the launch
  std::uint32_t (*new_time)() = nullptr;        ///< a later time of the clock of grid_meeting
  void (*cluster_begins)(running_cluster&) = nullptr;
  /// The running block is about to pass a barrier of its cluster, or to leave it.
  void (*cluster_met)(worker&, bool leaves) = nullptr;
};
extern engine_hooks hooks;

/// The thread that runs on this OS thread. (When it has just ended, `position` is the next one, and
/// there may be none.)
inline const thread_position& current_position() {
  return progress.position[progress.position == progress.end ? -1 : 0];
}

/// This OS thread's worker; created at its first launch.
worker& this_worker();
/// Null when this OS thread has never run a block.
worker* current_worker();
bool inside_kernel();

/// One worker's share of a launch: blocks, until there are no more.
void work_on(running_launch& launch);
/// Runs every block; returns the error of the first block that failed.
cudaError_t run_launch(running_launch& launch);

/// grid.cpp. Waits until all blocks of the cooperative launch wait here; gives the block up if
/// that can never be.
void meet_other_blocks(worker& w, const char* file, int line);
/// The running block has ended: the others must not wait for it.
void leave_grid(worker& w);
/// A block has failed: the others must not wait for it.
void break_grid(running_launch& launch);
/// Of a meeting: comes to it, and gives its generation to wait for.
std::uint32_t come_to(grid_meeting& m, std::uint32_t block, const char* file, int line);
/// Waits until all have come; gives the running block up, as `incomplete`, if that can never be.
void wait_at(worker& w, grid_meeting& m, std::uint32_t generation, failure::kind incomplete);
void leave_meeting(grid_meeting& m, std::uint32_t block);
void break_meeting(grid_meeting& m);

/// clusters.cpp. The number of a block in the grid, of the i-th block in the order in which the
/// blocks of each cluster follow one another; and blockIdx.
uint3 block_of_cluster(const launch_clusters& clusters, std::uint64_t i);
/// The number of the cluster that a block of the grid belongs to.
std::uint64_t cluster_of_block(const running_launch& launch, std::uint64_t block);
/// The running block begins, and has ended.
void join_cluster(worker& w, std::uint64_t i);
void leave_cluster(worker& w);
/// A block has failed: no other one must wait for it.
void break_clusters(running_launch& launch);
/// Another block's shared memory: whose, and the running block's own at the same place.
struct remote_shared {
  unsigned rank;
  std::uintptr_t own;
  std::uintptr_t offset;  // a number for the place, the same in all blocks
};
bool find_remote(const worker& w, const void* address, remote_shared& found);
/// The address of such a place in the worker's own shared memory.
std::uintptr_t own_shared(const worker& w, std::uintptr_t offset);
[[gnu::cold]] std::string describe_stuck_cluster(worker& w);

/// Gives the running block up: writes nothing, jumps out of it.
[[noreturn]] void give_up_block(worker& w);

/// hardware_barriers.cpp. Whether launches that begin now have barrier_mode::hardware.
bool hardware_barriers();
/// The functions that follow are for launches that have.
/// Whether the threads at the block's barrier, at several places or not all of them, pass it.
/// Warns.
bool meets_as_hardware(worker& w);
/// No thread of the block can run: lets those go on that wait only for threads that have left the
/// kernel. False if there are none.
bool release_stuck(worker& w);
/// The same for lanes of a warp, while the running thread spins.
void release_while_spinning(worker& w, const fiber& running);
/// engine.cpp. What lies in these lists is ready to go on.
void let_block_go(worker& w);
void let_group_go(worker& w, unsigned warp, warp_group* group);
/// engine.cpp. No thread of the block can run: lets those go on that wait for their cluster, once
/// all have come. False if there are none, or if the block itself has not come.
bool release_cluster(worker& w);
/// The same for a cluster that has met, while the running thread spins.
void release_cluster_while_spinning(worker& w);
inline constexpr char kGridBarrier[] = "this_grid().sync()";

/// workers.cpp. The workers that for_workers_of() visits.
void register_worker(worker& w);
void unregister_worker(worker& w);
/// Around a fork: nobody changes the lists of OS threads.
void hold_workers();
void release_workers();
/// Calls `visit` for each worker that runs blocks of the launch.
void for_workers_of(const running_launch& launch, const std::function<void(worker&)>& visit);

/// Seconds without progress after which a launch is to be ended.
double time_limit_seconds();

/// workers.cpp. More OS threads for a launch; returns how many are on their way.
unsigned call_helpers(running_launch& launch, unsigned count);

// turns.cpp
/// Sends the worker a signal: it is to look at the thread that runs, and perhaps to change it, or
/// to give its block up (launch->ended_as).
void ask_to_look(worker& w);
void install_turn_handler();
/// Check build: the running thread is about to access memory, and the call that `pc` returns to
/// says so. It may be asked to let another thread of the block run first.
void look_at_access(worker& w, const void* pc);
/// A thread that spins through the engine: notes its state. While the launch is watched only.
void note_spin(worker& w);
/// Threads of the block have met: notes in which states those that wait were seen there, and what
/// is in the block's shared memory, if all have come and none changes it.
void note_waiting_states(worker& w, bool all_have_come);
/// No other thread of the block can run: leaves the processor to other blocks for a moment.
void rest(worker& w);
/// Lets others run the blocks that this worker has taken and not begun.
void give_back_blocks(worker& w);

/// Whether another thread of the running block could go on now.
bool others_can_run(const worker& w);
/// Lets another thread of the block run in place of the running one, which stands at `pc` in the
/// kernel's code: called by a signal handler, or at an access. Returns when the thread has its next
/// turn.
void take_turn(worker& w, const void* pc);

/// Installs the fault handlers for this process and the alternate signal stack for this OS thread.
void watch_faults_on_this_thread();

/// The next random number; changes the state (splitmix64).
inline std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9E3779B97F4A7C15U);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

/// The order of the launches that follow.
thread_order current_order(unsigned& seed);

/// How many blocks one worker stands for at the same time: what cudaOccupancy... counts with. All
/// workers together have at most 1024, since each block of a cooperative launch is an OS thread.
unsigned blocks_per_worker();

constexpr std::size_t kSharedLimit = 48 * 1024;        // without opting in
constexpr std::size_t kSharedOptinLimit = 227 * 1024;  // the most a kernel may opt in to
constexpr std::size_t kSharedGuard = 4096;             // what cannot be touched behind it

// faults.cpp: texts
/// Number `index` of a declaration's names, "a, b".
std::string shared_name(std::string_view names, unsigned index);
// Cold, so that the compiler spends no time on making them fast.
[[gnu::cold]] std::string describe_stuck_block(worker& w);
/// describe_stuck_block() without the advice.
[[gnu::cold]] std::string describe_divergence(worker& w);
[[gnu::cold]] std::string describe_stuck_grid(worker& w);
[[gnu::cold]] std::string describe_fault(worker& w, cudaError_t& error);
[[gnu::cold]] std::string describe_time_limit(worker& w);
/// What the threads of the block do, for the report of a deadlock.
[[gnu::cold]] std::string describe_threads(worker& w);
[[gnu::cold]] std::string describe_deadlock(const running_launch& launch);
[[gnu::cold]] std::string describe_block(const worker& w);

}  // namespace cpu_device
