// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "engine/engine.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "base/report.hpp"
#include "cpu_device/clusters.h"
#include "engine/bulk_copies.hpp"

#ifdef CPU_DEVICE_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

extern "C" {
void* cpu_device_switch(void** save, void* load, void* result);
void* cpu_device_start(void** save, void* top, void (*function)(const void*), const void* argument,
                       void* result);
int cpu_device_guarded_call(void** slot, void (*function)(void*), void* argument);
[[noreturn]] void cpu_device_abort_to(void* slot);
}

constinit thread_local uint3 threadIdx{};
constinit thread_local uint3 blockIdx{};
constinit thread_local dim3 blockDim{};
constinit thread_local dim3 gridDim{};

namespace cpu_device {

constinit thread_local block_progress progress{};
constinit engine_hooks hooks{};

namespace {

constexpr unsigned kStacksPerMapping = 64;
constexpr unsigned kMostStacks = kMaxThreads + kStacksPerMapping + 1;
// A guard page splits a mapping, and a process may have 65530 parts of mappings (vm.max_map_count):
// stacks beyond this number have a guard only at the low end of their mapping.
constexpr unsigned kGuardedStacks = 24 * 1024;
constexpr std::size_t kPage = 4096;

__extension__ typedef unsigned __int128 uint128;  // products of two 64-bit numbers

thread_local worker* tls_worker = nullptr;

template <class T>
void shuffle_items(T* items, std::size_t count, std::uint64_t& state) {
  for (std::size_t i = count; i > 1; --i) std::swap(items[i - 1], items[next_random(state) % i]);
}

/// A worker's memory lives as long as its OS thread.
struct worker_owner {
  std::unique_ptr<worker> owned;
  std::unique_ptr<fiber*[]> ready, waiting, free_stacks;
  std::vector<std::unique_ptr<fiber[]>> fibers;
  std::vector<void*> stack_mappings;
  void* shared_mapping = nullptr;
  std::size_t shared_mapping_bytes = 0;

  ~worker_owner() {
    if (!owned) return;
    unregister_worker(*owned);
    for (void* m : stack_mappings) munmap(m, kStackBytes * kStacksPerMapping);
    if (shared_mapping != nullptr) munmap(shared_mapping, shared_mapping_bytes);
    if (hooks.worker_ends != nullptr) hooks.worker_ends(*owned);
    tls_worker = nullptr;
  }
};
thread_local worker_owner tls_owner;

void create_worker() {
  tls_owner.owned = std::make_unique<worker>();
  worker& w = *tls_owner.owned;
  tls_owner.ready = std::make_unique<fiber*[]>(kMaxThreads);
  tls_owner.waiting = std::make_unique<fiber*[]>(kMaxThreads);
  std::fill_n(tls_owner.ready.get(), kMaxThreads, &w.base);  // looked at ahead of time
  std::fill_n(tls_owner.waiting.get(), kMaxThreads, &w.base);
  w.ready = tls_owner.ready.get();
  w.waiting = tls_owner.waiting.get();
  tls_owner.free_stacks = std::make_unique<fiber*[]>(kMostStacks);
  w.free_stacks = tls_owner.free_stacks.get();
  w.os_thread = pthread_self();
  w.progress = &progress;
  w.thread_pointer = static_cast<const char*>(__builtin_thread_pointer());
  // Signal handlers look at the stacks, too: the list never moves.
  w.stacks.reserve(kMostStacks);
  w.stacks.push_back({&w.base});

  // Dynamic shared memory ends at a page that cannot be touched.
  const std::size_t room = (kSharedOptinLimit + kPage - 1) / kPage * kPage;
  void* map = mmap(nullptr, room + 2 * kPage, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) throw std::bad_alloc();
  mprotect(map, kPage, PROT_NONE);
  mprotect(static_cast<char*>(map) + kPage + room, kPage, PROT_NONE);
  tls_owner.shared_mapping = map;
  tls_owner.shared_mapping_bytes = room + 2 * kPage;
  w.shared_low = static_cast<char*>(map) + kPage;
  w.shared_end = w.shared_low + room;

  tls_worker = &w;
  register_worker(w);
  watch_faults_on_this_thread();
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    void* low = nullptr;
    std::size_t bytes = 0;
    pthread_attr_getstack(&attributes, &low, &bytes);
    pthread_attr_destroy(&attributes);
    w.stacks[0].low = static_cast<char*>(low);
    w.stacks[0].top = w.stacks[0].low + bytes;
  } else {
    // Without /proc nobody knows the stack of the first thread. Most systems give it as much.
    constexpr std::size_t kUsual = std::size_t{8} << 20;
    char* const here = static_cast<char*>(__builtin_frame_address(0));
    w.stacks[0].low = here - kUsual;
    w.stacks[0].top = here + kUsual;
  }
}

[[noreturn, gnu::cold]] void no_memory_for_stacks(worker& w) {
  w.problem.what = failure::kind::misuse;
  w.problem.error = cudaErrorMemoryAllocation;
  w.problem.text =
      "the system refused memory for the stacks of a block of " +
      std::to_string(w.launch->block.x * w.launch->block.y * w.launch->block.z) +
      " threads: each of them that waits needs " + std::to_string(kStackBytes / 1024) +
      " KiB of address space, and up to " + std::to_string(worker_count()) +
      " OS threads run a block each.\n  Try: a larger limit (ulimit -d, ulimit -v), or fewer OS "
      "threads (CPU_DEVICE_WORKERS=1).";
  give_up_block(w);
}

[[gnu::noinline, gnu::cold]] void map_stacks(worker& w) {
  void* map = mmap(nullptr, kStackBytes * kStacksPerMapping, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (map == MAP_FAILED) no_memory_for_stacks(w);
  const engine_work work(w);  // what is allocated here is not the kernel's
  tls_owner.stack_mappings.push_back(map);
  static std::atomic<unsigned> mapped{0};
  const bool guarded = mapped.fetch_add(kStacksPerMapping) < kGuardedStacks;
  tls_owner.fibers.push_back(std::make_unique<fiber[]>(kStacksPerMapping));
  fiber* fibers = tls_owner.fibers.back().get();
  for (unsigned i = kStacksPerMapping; i-- > 0;) {
    char* low = static_cast<char*>(map) + i * kStackBytes;
    if (guarded || i == 0) mprotect(low, kPage, PROT_NONE);
    // Tops at different offsets within a page: otherwise the busy ends of all stacks would fall
    // into the same few cache sets. Each is the begin of a cache line.
    char* top = low + kStackBytes - (w.stacks.size() * 192) % kPage;
    fiber* f = fibers + i;
    f->stack = static_cast<std::uint16_t>(w.stacks.size());
    w.stacks.push_back({f, low + kPage, top, top});
    w.free_stacks[w.free_count++] = f;
  }
}

/// The stack is free for other threads, though not all functions on it have returned: those from
/// `deepest` on will not. For AddressSanitizer, their variables are still there.
void clean_stack([[maybe_unused]] const fiber_stack& s, [[maybe_unused]] const char* deepest) {
#ifdef CPU_DEVICE_ASAN
  const char* low = std::max<const char*>(s.low, deepest - kPage);  // and what is being called
  __asan_unpoison_memory_region(low, static_cast<std::size_t>(s.top - low));
#endif
}

/// Every change of stacks is in one of these: leave_stack(), the change, come_back(). The sanitizer
/// keeps in `fake` what come_back() needs; null: nothing comes back to the stack that is left.
inline void leave_stack(worker& w, fiber* to, [[maybe_unused]] void** fake) {
  ++progress.waits;
  w.current = to;
#ifdef CPU_DEVICE_ASAN
  const fiber_stack& s = w.stacks[to->stack];
  __sanitizer_start_switch_fiber(fake, s.low, static_cast<std::size_t>(s.top - s.low));
#endif
}
inline void* come_back([[maybe_unused]] void* fake, void* result) {
#ifdef CPU_DEVICE_ASAN
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
  return result;
}

/// Goes on where `to` waits. Returns `result` when `from` goes on.
inline void* change_stack(worker& w, fiber* from, fiber* to, void* result = nullptr) {
  void* fake = nullptr;
  leave_stack(w, to, &fake);
  return come_back(fake, cpu_device_switch(&from->sp, to->sp, result));
}

/// From here on, the running thread is that of `to`.
inline void become(fiber* to) {
  const thread_position& position = to->position();
  threadIdx = {position.x, position.y, position.z};
  progress.position = &position;
}

inline void* resume(worker& w, fiber* from, fiber* to, void* result = nullptr) {
  become(to);
  return change_stack(w, from, to, result);
}

#ifdef CPU_DEVICE_ASAN
void begin_stack(const void* arguments) {
  come_back(nullptr, nullptr);
  tls_worker->launch->run(arguments);
}
#endif

/// The stacks of a block do not fit into the first cache, nor their pages into its TLB: those that
/// come next are fetched early. `low` is where the registers of a thread lie; its variables follow.
inline void fetch_stack(const void* low) {
  __builtin_prefetch(low);
  __builtin_prefetch(static_cast<const char*>(low) + 64);
}

/// Goes on with the threads that have not started, on a fresh stack, which the launch's run() never
/// leaves by its end: see out_of_threads(). Returns `result` when `me` goes on.
///
/// The registers of a thread that waits take 64 bytes on x86-64. They are in a single cache line if
/// the stack begins at the right distance from one. The threads of a block mostly wait at the same
/// depth: it is that of the thread before `me`.
void* start_on_new_stack(worker& w, fiber* me, void* result = nullptr) {
  if (w.free_count == 0) [[unlikely]]
    map_stacks(w);
  fiber* f = w.free_stacks[--w.free_count];
  if (w.free_count != 0) fetch_stack(w.stacks[w.free_stacks[w.free_count - 1]->stack].top - 128);
  std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(w.stacks[f->stack].top);
  if (w.last_starter != nullptr) {
    const auto sp = reinterpret_cast<std::uintptr_t>(w.last_starter->sp);
    begin -= (sp - w.last_starter_began) & 48U;
  }
  w.last_starter = me;
  w.last_starter_began = w.newest_began;
  w.newest_began = begin;
  void* fake = nullptr;
  leave_stack(w, f, &fake);
#ifdef CPU_DEVICE_ASAN
  void (*const run)(const void*) = &begin_stack;
#else
  void (*const run)(const void*) = w.launch->run;
#endif
  return come_back(fake, cpu_device_start(&me->sp, reinterpret_cast<void*>(begin), run,
                                          w.launch->arguments, result));
}

void make_ready(worker& w, fiber* f) { w.ready[w.tail++ % kMaxThreads] = f; }

/// Tells observers that threads of the running block have met. Ask listening() first.
[[gnu::noinline, gnu::cold]] void publish_barrier(worker& w, event_scope scope, unsigned threads,
                                                  const char* file, int line,
                                                  const char* function = "", unsigned warp = 0) {
  const engine_work work(w);
  if (w.notes.wants_states.exchange(false, std::memory_order_acquire))
    note_waiting_states(w, threads == progress.count - progress.finished);
  publish(event_kind::barrier, &observer::barrier_passed,
          {w.serial, scope, threads, file, line, function, warp});
}

/// Lets lanes go on whose warp function waits only for what can never come but need not.
bool release_special_waiters(worker& w) {
  if (!w.at_active_mask.empty()) {
    // No lane can run on, so those that stand at one __activemask() are together.
    fiber* first = w.at_active_mask.front();
    const unsigned warp = first->position().linear / 32;
    const auto together = [&](const fiber* f) {
      return f->position().linear / 32 == warp && f->line == first->line;
    };
    unsigned mask = 0;
    for (const fiber* f : w.at_active_mask)
      if (together(f)) mask |= 1U << (f->position().linear % 32);
    std::vector<fiber*> rest;
    for (fiber* f : w.at_active_mask) {
      if (together(f)) {
        w.stacks[f->stack].result = mask;
        make_ready(w, f);
      } else {
        rest.push_back(f);
      }
    }
    w.at_active_mask.swap(rest);
    return true;
  }
  return w.cluster != nullptr && release_cluster(w);
}

[[noreturn, gnu::cold]] void stuck(worker& w) {
  w.problem.what = failure::kind::stuck;
  give_up_block(w);
}

[[gnu::noinline]] void release_waiters(worker& w) {
  while (w.head == w.tail)
    if (!release_special_waiters(w) && !(w.launch->hardware_barriers && release_stuck(w))) stuck(w);
}

/// The next thread that can go on; does not return when there is none.
inline fiber* next_ready(worker& w) {
  if (w.head == w.tail) [[unlikely]]
    release_waiters(w);
  return w.ready[w.head++ % kMaxThreads];
}

[[gnu::noinline]] void* sleep_while_none_is_ready(worker& w, fiber* me, void* result) {
  if (progress.next != progress.end) return start_on_new_stack(w, me, result);
  fiber* next = next_ready(w);
  return next == me ? result : resume(w, me, next, result);
}

/// Puts the running thread to sleep and lets others run. It stands in a list of waiting threads,
/// and not among the ready ones. Returns `result` when it goes on.
inline void* sleep_until_ready(worker& w, fiber* me, void* result = nullptr) {
  if (w.head == w.tail) return sleep_while_none_is_ready(w, me, result);
  return resume(w, me, w.ready[w.head++ % kMaxThreads], result);
}

/// The same for a thread that may be ready already.
inline void wait_for_others(worker& w, fiber* me) {
  if (w.head == w.tail && progress.next != progress.end) {
    start_on_new_stack(w, me);
    return;
  }
  fiber* next = next_ready(w);
  if (next != me) resume(w, me, next);
}

/// The running thread has not waited before.
inline bool waits_first() { return progress.stop != nullptr; }

/// From now on, other stacks start the threads behind it.
inline void note_first_wait(fiber* me) {
  const thread_position* position = progress.position;
  me->thread = static_cast<std::uint16_t>(position - progress.order);
  progress.next = std::max(progress.next, position + 1);
  progress.stop = nullptr;
}

inline void note_later_wait(fiber* me, const char* what, const char* file, int line) {
  me->what = what;
  me->file = file;
  me->line = line;
}

inline void note_place(fiber* me, const char* what, const char* file, int line) {
  if (waits_first()) note_first_wait(me);
  note_later_wait(me, what, file, line);
}

[[noreturn, gnu::cold]] void called_by_host(const char* what) {
  report(std::string(what) + " was called by host code. It belongs into a kernel.");
  std::abort();
}

inline worker& worker_in_kernel(const char* what) {
  worker* w = progress.self;
  if (w == nullptr) [[unlikely]]
    called_by_host(what);
  return *w;
}

/// All threads of the block have come, or all of the grid; `last` is this block's last one.
void release_barrier(worker& w, const fiber& last, event_scope scope = event_scope::block) {
  if (w.mixed) [[unlikely]] {
    if (!w.launch->hardware_barriers || !meets_as_hardware(w)) stuck(w);
    w.mixed = false;
  }
  if (listening(event_kind::barrier)) [[unlikely]]
    publish_barrier(w, scope, w.arrived, last.file, last.line);
  std::swap(w.ready, w.waiting);
  w.head = 0;
  w.tail = w.arrived;
  w.arrived = 0;
  ++w.block_epoch;
  if (w.launch->order == thread_order::random) shuffle_items(w.ready, w.tail, w.random);
}

/// The last thread has come. Which one goes on first is up to the order of the launch.
[[gnu::noinline]] void pass_barrier(worker& w, fiber* me) {
  release_barrier(w, *me);
  wait_for_others(w, me);
}

/// Puts the running thread at the block's barrier; true for the last one to come.
inline bool arrive(worker& w, fiber* me, const char* what, const char* file, int line) {
  note_place(me, what, file, line);
  if (w.arrived == 0)
    w.site_line = line;
  else if (line != w.site_line)
    w.mixed = true;
  w.waiting[w.arrived++] = me;
  return w.arrived == progress.count;
}

}  // namespace

void let_block_go(worker& w) { release_barrier(w, *w.waiting[w.arrived - 1]); }

worker* current_worker() { return tls_worker; }
worker& this_worker() {
  if (tls_worker == nullptr) create_worker();
  return *tls_worker;
}
bool inside_kernel() {
  return tls_worker != nullptr && tls_worker->in_kernel.load(std::memory_order_relaxed);
}

void poison(void* memory, std::size_t bytes) { std::memset(memory, 0xFF, bytes); }

// Here, and not in the kernel's code: a thread is preempted only there, never in between.
void be_born(unsigned& born_in, const shared_variable* variables, unsigned count,
             const char* names) {
  if (born_in == progress.block_serial) return;
  born_in = progress.block_serial;
  shared_declarations& declared = tls_worker->declared;
  if (declared.block != born_in) declared.count = 0;
  declared.block = born_in;
  for (unsigned i = 0; i < count; ++i) {
    poison(variables[i].address, variables[i].bytes);
    if (declared.count < declared.all.size())
      declared.all[declared.count++] = {variables[i], names, i};
  }
}

void give_up_block(worker& w) { cpu_device_abort_to(w.abort_sp); }

void block_barrier(const char* file, int line) {
  worker& w = worker_in_kernel("__syncthreads()");
  fiber* me = w.current;
  if (arrive(w, me, "__syncthreads()", file, line)) return pass_barrier(w, me);
  fetch_stack(w.ready[(w.head + 2) % kMaxThreads]->sp);
  sleep_until_ready(w, me);
}

bool launched_cooperatively() {
  const worker* w = tls_worker;
  return w != nullptr && w->launch != nullptr && w->launch->meeting != nullptr;
}

void grid_barrier(const char* file, int line) {
  worker& w = worker_in_kernel(kGridBarrier);
  fiber* me = w.current;
  // The block's last thread waits for the other blocks: with the OS thread, since no thread of
  // this block could go on.
  if (arrive(w, me, kGridBarrier, file, line)) {
    if (w.mixed) stuck(w);
    meet_other_blocks(w, file, line);
    release_barrier(w, *me, event_scope::device);
  }
  wait_for_others(w, me);
}

// --- the barrier of a cluster -------------------------------------------------------------------
// A block comes to it when the last of its threads arrives. Threads that wait for it stand in a
// list of their own: the block's other threads go on, and only when none can does its OS thread
// wait.

namespace {

[[noreturn, gnu::cold]] void misuse_of_cluster(worker& w, const char* what, const char* why,
                                               const char* file, int line) {
  w.problem.what = failure::kind::misuse;
  w.problem.text = std::string(what) + " at " + place(file, line) + " " + why;
  give_up_block(w);
}

/// The first of the block's threads passes the barrier.
void note_cluster_passed(worker& w, std::uint32_t barrier, unsigned threads, const char* file,
                         int line) {
  if (w.cluster->passed == barrier) return;
  if (hooks.cluster_met != nullptr) {
    const engine_work work(w);
    hooks.cluster_met(w, false);
  }
  w.cluster->passed = barrier;
  if (listening(event_kind::barrier)) [[unlikely]]
    publish_barrier(w, event_scope::device, threads, file, line);
  w.cluster->since_epoch = ++w.block_epoch;
}

/// All blocks have met: lets the threads that wait for that go on.
void let_cluster_go(worker& w) {
  cluster_member& c = *w.cluster;
  const fiber& last = *c.waiting.back();
  note_cluster_passed(w, c.awaited, static_cast<unsigned>(c.waiting.size()), last.file, last.line);
  if (w.launch->order == thread_order::random)
    shuffle_items(c.waiting.data(), c.waiting.size(), w.random);
  for (fiber* f : c.waiting) make_ready(w, f);
  c.waiting.clear();
}

bool has_met(const cluster_member& c, std::uint32_t barrier) {
  return c.all->meeting.generation.load(std::memory_order_acquire) > barrier &&
         !c.all->meeting.broken.load();
}

}  // namespace

bool release_cluster(worker& w) {
  cluster_member& c = *w.cluster;
  if (c.waiting.empty() || c.awaited == c.barrier) return false;
  wait_at(w, c.all->meeting, c.awaited, failure::kind::stuck_cluster);
  let_cluster_go(w);
  return true;
}

void release_cluster_while_spinning(worker& w) {
  if (!w.cluster->waiting.empty() && has_met(*w.cluster, w.cluster->awaited)) let_cluster_go(w);
}

void cluster_arrive(const char* what, const char* file, int line) {
  worker& w = worker_in_kernel(what);
  if (w.cluster == nullptr) return;  // to wait is the block's whole barrier
  cluster_member& c = *w.cluster;
  std::uint32_t& mine = c.at[progress.position->linear];
  if (mine != 0)
    misuse_of_cluster(w, what,
                      "is the second arrival of a thread at one barrier. Try: one barrier_wait() "
                      "between any two barrier_arrive().",
                      file, line);
  if (c.arrived == 0) {
    c.file = file;
    c.line = line;
  } else if (line != c.line && !w.launch->hardware_barriers) {
    misuse_of_cluster(w, what,
                      ("meets another barrier of the cluster, at " + place(c.file, c.line) +
                       ": threads of one block arrive at both. Try: one call that all threads of "
                       "the cluster reach, outside of the if or the loop.")
                          .c_str(),
                      file, line);
  }
  mine = c.barrier;
  if (++c.arrived != progress.count) return;
  c.arrived = 0;
  ++c.barrier;
  const engine_work work(w);
  come_to(c.all->meeting, c.rank, file, line);
}

void cluster_wait(const char* what, const char* file, int line) {
  worker& w = worker_in_kernel(what);
  if (w.cluster == nullptr) return block_barrier(file, line);
  cluster_member& c = *w.cluster;
  fiber* me = w.current;
  std::uint32_t& mine = c.at[progress.position->linear];
  const std::uint32_t barrier = mine;
  if (barrier == 0)
    misuse_of_cluster(w, what,
                      "waits for a barrier at which the thread has not arrived. Try: "
                      "barrier_arrive() before it.",
                      file, line);
  mine = 0;
  if (has_met(c, barrier)) {
    if (!c.waiting.empty()) let_cluster_go(w);
    note_cluster_passed(w, barrier, 1, file, line);
    return;
  }
  note_place(me, what, file, line);
  c.awaited = barrier;
  c.waiting.push_back(me);
  wait_for_others(w, me);
}

int block_vote(vote kind, int predicate, const char* file, int line) {
  worker& w = worker_in_kernel("__syncthreads_count()");
  fiber* me = w.current;
  if (w.arrived == 0) w.vote_result = kind == vote::all ? 1 : 0;
  switch (kind) {
    case vote::count:
      w.vote_result += predicate != 0;
      break;
    case vote::all:
      w.vote_result &= predicate != 0;
      break;
    default:
      w.vote_result |= predicate != 0;
      break;
  }
  if (arrive(w, me, "__syncthreads_count/_and/_or()", file, line)) {
    for (unsigned i = 0; i < w.arrived; ++i) w.stacks[w.waiting[i]->stack].result = w.vote_result;
    release_barrier(w, *me);
  }
  wait_for_others(w, me);
  return static_cast<int>(w.stacks[me->stack].result);
}

namespace {

[[noreturn, gnu::cold]] void caller_not_in_mask(worker& w, unsigned mask, unsigned lane,
                                                const char* what, const char* file, int line) {
  char number[16];
  std::snprintf(number, sizeof number, "0x%08x", mask);
  w.problem.what = failure::kind::misuse;
  w.problem.text = std::string(what) + " at " + short_name(file) + ":" + std::to_string(line) +
                   " was called by lane " + std::to_string(lane) + " with the mask " + number +
                   ", which does not name that lane. Every lane that calls must be in its mask.";
  give_up_block(w);
}

[[gnu::noinline, gnu::cold]] warp_group* new_group(worker& w) {
  const engine_work work(w);  // what is allocated here is not the kernel's
  w.all_groups.push_back(std::make_unique<warp_group>());
  return w.all_groups.back().get();
}

/// The group of this mask that the warp's lanes join; a new one if there is none.
warp_group* find_group(worker& w, unsigned warp, unsigned mask, const char* what) {
  for (warp_group* group = w.open_groups[warp]; group != nullptr; group = group->next) {
    if (group->mask != mask) continue;
    if (group->what != what && std::strcmp(group->what, what) != 0) group->mixed = true;
    return group;
  }
  warp_group* group = w.free_groups;
  if (group == nullptr)
    group = new_group(w);
  else
    w.free_groups = group->next;
  group->mask = mask;
  group->expected = static_cast<unsigned>(__builtin_popcount(mask));
  group->count = group->left = 0;
  group->mixed = false;
  group->what = what;
  group->next = w.open_groups[warp];
  w.open_groups[warp] = group;
  return group;
}

/// Does this warp function order what the lanes do in memory before and after it? Shuffles, votes
/// and reductions do not: they only exchange values.
bool orders_memory(std::string_view what) {
  return what == "__syncwarp" || what.ends_with("sync()");
}

/// The group's lanes have met: it is no longer open.
void close_group(worker& w, unsigned warp, warp_group* group) {
  warp_group** link = &w.open_groups[warp];
  while (*link != group) link = &(*link)->next;
  *link = group->next;
  ++w.warp_epoch[warp];
  if (orders_memory(group->what)) ++w.warp_barriers[warp];
  if (listening(event_kind::barrier)) [[unlikely]] {
    const fiber& last = *group->waiting[group->count - 1];
    publish_barrier(w, event_scope::warp, group->count, last.file, last.line, group->what, warp);
  }
}

std::atomic<lanes_get> what_lanes_get = lanes_get::everything;

/// For lanes_get::no_exchange.
[[gnu::cold]] void forget_what_was_brought(warp_group& group) {
  if (std::strstr(group.what, "shfl") == nullptr && std::strstr(group.what, "reduce") == nullptr)
    return;
  for (std::uint64_t& value : group.value) value = 0;
}

/// The last lane has come: lets the others go on.
[[gnu::noinline]] warp_exchange& complete_group(worker& w, unsigned warp, warp_group* group) {
  if (group->mixed) stuck(w);
  if (what_lanes_get.load(std::memory_order_relaxed) == lanes_get::no_exchange) [[unlikely]]
    forget_what_was_brought(*group);
  close_group(w, warp, group);
  for (unsigned i = 0; i + 1 < group->count; ++i) make_ready(w, group->waiting[i]);
  return *group;
}

/// Brings the running lane's value to the group and sleeps until the last lane has come.
[[gnu::always_inline]] inline warp_exchange& join_group(worker& w, warp_group* group, unsigned warp,
                                                        unsigned lane, std::uint64_t value,
                                                        const char* what, const char* file,
                                                        int line) {
  fiber* me = w.current;
  note_later_wait(me, what, file, line);
  group->value[lane] = value;
  const unsigned count = group->count++;
  group->waiting[count] = me;
  if (count + 1 == group->expected) return complete_group(w, warp, group);
  warp_exchange* exchange = group;
  return *static_cast<warp_exchange*>(sleep_until_ready(w, me, exchange));
}

[[gnu::noinline]] warp_exchange& meet_slowly(worker& w, unsigned mask, std::uint64_t value,
                                             const char* what, const char* file, int line) {
  if (waits_first()) note_first_wait(w.current);
  const unsigned linear = progress.position->linear;
  warp_group* group = find_group(w, linear / 32, mask, what);
  return join_group(w, group, linear / 32, linear % 32, value, what, file, line);
}

}  // namespace

void set_lanes_get(lanes_get what) { what_lanes_get.store(what); }
bool products_are_made() {
  return what_lanes_get.load(std::memory_order_relaxed) != lanes_get::no_products;
}

void let_group_go(worker& w, unsigned warp, warp_group* group) {
  close_group(w, warp, group);
  for (unsigned i = 0; i < group->count; ++i) make_ready(w, group->waiting[i]);
}

// Each lane of each warp function comes through here, so the usual way is short: no frame on the
// stack, and its last act is the change of stacks. Then no return is predicted wrongly, which would
// cost more than the change itself. What a lane does once, or one lane of a warp, stands in other
// functions.
warp_exchange& meet_warp(unsigned mask, std::uint64_t value, const char* what, const char* file,
                         int line) {
  worker& w = worker_in_kernel(what);
  const unsigned linear = progress.position->linear;
  const unsigned warp = linear / 32, lane = linear % 32;
  if ((mask >> lane & 1U) == 0) caller_not_in_mask(w, mask, lane, what, file, line);
  // Lanes that the block never had (its size is no multiple of 32) are not waited for.
  const unsigned in_warp = progress.count - warp * 32;
  if (in_warp < 32) mask &= (1U << in_warp) - 1U;

  warp_group* group = w.open_groups[warp];
  if (waits_first() || group == nullptr || group->mask != mask || group->what != what)
    return meet_slowly(w, mask, value, what, file, line);
  return join_group(w, group, warp, lane, value, what, file, line);
}

void recycle(warp_exchange& exchange) {
  auto& group = static_cast<warp_group&>(exchange);
  group.next = tls_worker->free_groups;
  tls_worker->free_groups = &group;
}

namespace {
std::atomic<bool> lanes_are_apart = false;
}  // namespace

bool set_lanes_apart(bool apart) { return lanes_are_apart.exchange(apart); }

unsigned active_mask(const char* file, int line) {
  worker& w = worker_in_kernel("__activemask()");
  if (lanes_are_apart.load(std::memory_order_relaxed)) [[unlikely]]
    return 1U << (progress.position->linear % 32);
  fiber* me = w.current;
  note_place(me, "__activemask()", file, line);
  w.at_active_mask.push_back(me);
  wait_for_others(w, me);
  return w.stacks[me->stack].result;
}

void yield(const char* file, int line, const char* what) {
  worker& w = worker_in_kernel("__nanosleep()");
  fiber* me = w.current;
  note_place(me, what, file, line);
  if (w.launch->wakes_spinners) [[unlikely]]
    release_while_spinning(w, *me);
  const bool watched = w.notes.watched.load(std::memory_order_relaxed);
  if (watched) [[unlikely]]
    note_spin(w);
  if (progress.next != progress.end) {
    make_ready(w, me);
    start_on_new_stack(w, me);
  } else if (w.head != w.tail) {
    make_ready(w, me);
    resume(w, me, w.ready[w.head++ % kMaxThreads]);
  } else if (watched) {
    rest(w);
  } else {
    sched_yield();  // what the thread waits for happens in another block
  }
}

namespace {
/// Past the last thread that has started or that the running stack has claimed.
const thread_position* first_unclaimed(const block_progress& p) {
  return std::max(p.next, p.position < p.stop ? p.position + 1 : p.position);
}
}  // namespace

bool others_can_run(const worker& w) {
  return w.head != w.tail || first_unclaimed(progress) != progress.end;
}

void take_turn(worker& w, const void* pc) {
  block_progress& p = progress;
  const uint3 index = threadIdx;
  const thread_position* const position = p.position;
  const thread_position* const stop = p.stop != nullptr ? std::min(p.stop, position + 1) : nullptr;
  p.next = first_unclaimed(p);
  p.stop = nullptr;
  fiber* me = w.current;
  me->thread = static_cast<std::uint16_t>(&current_position() - p.order);
  me->what = "a spin loop";
  me->pc = pc;
  me->line = 0;
  if (w.launch->wakes_spinners) [[unlikely]]
    release_while_spinning(w, *me);
  make_ready(w, me);
  if (p.next != p.end)
    start_on_new_stack(w, me);
  else
    resume(w, me, w.ready[w.head++ % kMaxThreads]);
  threadIdx = index;
  p.position = position;
  p.stop = stop;
}

void out_of_threads(unsigned finished) {
  worker& w = *progress.self;
  fiber* me = w.current;
  const bool on_base = me == &w.base;
  progress.finished += finished;
  progress.stop = nullptr;
  if (!on_base) w.free_stacks[w.free_count++] = me;  // nothing starts: it stays untouched
  fiber* to = &w.base;
  if (progress.finished != progress.count) {
    fetch_stack(w.ready[(w.head + 2) % kMaxThreads]->sp);
    to = next_ready(w);
    become(to);
  }
  if (!on_base) {
    // No function returns on this stack. From here on, none may have a variable of its own either:
    // at the end of its scope, the sanitizer would forbid its place for whoever comes next.
    clean_stack(w.stacks[me->stack], static_cast<char*>(__builtin_frame_address(0)));
    leave_stack(w, to, nullptr);
    cpu_device_switch(&me->sp, to->sp, nullptr);
  } else if (to != me) {
    change_stack(w, me, to);
  }
}

// Not in the kernel's code, where a thread is preempted: what is claimed here stays together.
bool next_threads(unsigned finished) {
  block_progress& p = progress;
  p.next = std::max(p.next, p.position);  // this stack has run all before `position`
  const thread_position* const t = p.next;
  if (t == p.end) return false;
  p.finished += finished;
  threadIdx = {t->x, t->y, t->z};
  p.position = t;
  p.stop = t->x < p.row ? t + (p.row - t->x) : t + 1;
  return true;
}

namespace {

/// The order in which the threads of each block start.
void prepare_order(worker& w, const running_launch& launch) {
  const dim3 b = launch.block;
  const unsigned count = b.x * b.y * b.z;
  const bool same = w.order_block.x == b.x && w.order_block.y == b.y && w.order_block.z == b.z &&
                    w.order_kind == launch.order && launch.order != thread_order::random;
  if (!same) {
    w.order.resize(count);
    unsigned linear = 0;
    for (unsigned z = 0; z < b.z; ++z)
      for (unsigned y = 0; y < b.y; ++y)
        for (unsigned x = 0; x < b.x; ++x, ++linear) w.order[linear] = {x, y, z, linear};
    if (launch.order == thread_order::reverse) std::reverse(w.order.begin(), w.order.end());
    w.order_block = b;
    w.order_kind = launch.order;
  }
  if (launch.order == thread_order::random) {
    w.random = launch.seed * 0x9E3779B97F4A7C15U + 1;
    shuffle_items(w.order.data(), count, w.random);
  }
}

/// A block that was given up leaves threads behind in every list.
void forget_block(worker& w) {
  forget_bulk_copies();
  w.cluster.reset();
  w.head = w.tail = w.arrived = 0;
  w.mixed = false;
  w.at_active_mask.clear();
  for (auto& open : w.open_groups) open = nullptr;
  w.free_groups = nullptr;
  for (const auto& group : w.all_groups) {
    group->next = w.free_groups;
    w.free_groups = group.get();
  }
  w.free_count = 0;
  for (std::size_t i = 1; i < w.stacks.size(); ++i) {
    w.free_stacks[w.free_count++] = w.stacks[i].user;
    clean_stack(w.stacks[i], w.stacks[i].low);
  }
}

void publish_block(worker& w, void (observer::*what)(const block_event&), bool given_up = false) {
  const engine_work work(w);
  publish(event_kind::block, what, {event_of(*w.launch), blockIdx, w.serial, given_up});
}

/// The same for the i-th block of a launch with clusters: blocks of one cluster follow one another,
/// and the clusters are in the launch's order. Gives the block's number in the grid.
[[gnu::noinline, gnu::cold]] std::uint64_t begin_in_cluster(worker& w, std::uint64_t i) {
  const running_launch& launch = *w.launch;
  const launch_clusters& clusters = *launch.clusters;
  const std::uint64_t size = clusters.size, count = launch.block_count / size;
  std::uint64_t cluster = i / size, rank = i % size;
  if (launch.order == thread_order::reverse) {
    cluster = count - 1 - cluster;
    rank = size - 1 - rank;
  }
  if (launch.order == thread_order::random)
    cluster = static_cast<std::uint64_t>(
        (static_cast<uint128>(cluster) * launch.block_step + launch.block_first) % count);
  blockIdx = block_of_cluster(clusters, cluster * size + rank);
  join_cluster(w, cluster * size + rank);
  return (std::uint64_t{blockIdx.z} * launch.grid.y + blockIdx.y) * launch.grid.x + blockIdx.x;
}

struct block_range {
  worker* w;
  running_launch* launch;
  std::uint64_t begin, end;
};

void run_blocks(void* argument) {
  const auto& range = *static_cast<block_range*>(argument);
  worker& w = *range.w;
  running_launch& launch = *range.launch;
  block_progress& p = progress;
  const std::uint64_t gx = launch.grid.x, gy = launch.grid.y;
  const bool tells = listening(event_kind::block);
  const bool is_line = launch.block_count <= gx && launch.clusters == nullptr;
  w.notes.in_blocks.store(true, std::memory_order_relaxed);
  w.range_end = range.end;
  for (std::uint64_t i = range.begin; i < w.range_end; ++i) {
    w.range_next = i + 1;
    std::uint64_t b = i;
    if (launch.order == thread_order::reverse) b = launch.block_count - 1 - i;
    if (launch.order == thread_order::random)
      b = static_cast<std::uint64_t>(
          (static_cast<uint128>(i) * launch.block_step + launch.block_first) % launch.block_count);
    if (b - launch.first_wanted >= launch.count_wanted) [[unlikely]]
      continue;
    if (is_line) {
      blockIdx = {static_cast<unsigned>(b), 0, 0};
    } else if (launch.clusters != nullptr) {
      b = begin_in_cluster(w, i);
    } else {
      blockIdx = {static_cast<unsigned>(b % gx), static_cast<unsigned>(b / gx % gy),
                  static_cast<unsigned>(b / gx / gy)};
    }
    w.serial = launch.first_serial + static_cast<std::uint32_t>(b);
    p.position = p.next = p.order;
    p.finished = 0;
    ++p.block_serial;
    ++w.block_epoch;
    w.current = &w.base;
    if (launch.shared_bytes != 0) std::memset(p.dynamic_shared, 0xFF, launch.shared_bytes);
    if (tells) publish_block(w, &observer::block_begins);
    launch.run(launch.arguments);
    p.watching = false;
    if (p.copies != nullptr) [[unlikely]]
      refuse_unfinished_copies(w);
    if (launch.together != 1) {
      if (launch.clusters != nullptr) leave_cluster(w);
      if (launch.meeting != nullptr) leave_grid(w);
    }
    if (tells) publish_block(w, &observer::block_ends);
  }
  w.notes.in_blocks.store(false, std::memory_order_relaxed);
}

/// The next blocks that nobody has taken; false if there are none.
bool take_blocks(running_launch& launch, block_range& range) {
  if (launch.any_returned.load(std::memory_order_acquire)) {
    const std::lock_guard lock(launch.returned_mutex);
    if (!launch.returned.empty()) {
      auto& first = launch.returned.front();
      range.begin = first.first++;
      range.end = first.first;
      if (first.first == first.second) launch.returned.erase(launch.returned.begin());
      return true;
    }
  }
  const bool single = launch.together != 1 || launch.one_by_one.load();
  const std::uint64_t count =
      single ? 1 : std::max<std::uint64_t>(1, launch.block_count / (worker_count() * 32ULL));
  range.begin = launch.next_block.fetch_add(count, std::memory_order_relaxed);
  range.end = std::min(range.begin + count, launch.block_count);
  return range.begin < launch.block_count;
}

/// A block has failed: nobody must wait for it.
void break_meetings(running_launch& launch) {
  if (launch.clusters != nullptr) break_clusters(launch);
  if (launch.meeting != nullptr) break_grid(launch);
}

void report_problem(worker& w, running_launch& launch) {
  cudaError_t error = cudaErrorLaunchFailure;
  std::string text;
  switch (w.problem.what) {
    case failure::kind::stuck:
      text = describe_stuck_block(w);
      break;
    case failure::kind::stuck_grid:
      text = describe_stuck_grid(w);
      break;
    case failure::kind::stuck_cluster:
      text = describe_stuck_cluster(w);
      break;
    case failure::kind::deadlock:
    case failure::kind::abandoned: {
      if (launch.ended_as.load() == static_cast<int>(failure::kind::deadlock)) {
        const std::string what = describe_threads(w);
        const std::lock_guard lock(launch.stuck_mutex);
        launch.stuck_blocks[what].push_back((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x +
                                            blockIdx.x);
      }
      int none = 0;
      launch.error.compare_exchange_strong(none, cudaErrorLaunchTimeout);
      break_meetings(launch);
      w.problem = {};
      return;
    }
    case failure::kind::fault:
      text = describe_fault(w, error);
      break;
    case failure::kind::time_limit:
      error = cudaErrorLaunchTimeout;
      text = describe_time_limit(w);
      break;
    default:
      error = w.problem.error;
      text = w.problem.text + "\n  " + describe_block(w);
      break;
  }
  int none = 0;
  if (launch.error.compare_exchange_strong(none, error)) report(text);  // the first block speaks
  break_meetings(launch);
  w.problem = {};
}

}  // namespace

launch_event event_of(const running_launch& launch, cudaError_t status) {
  return {launch.site.kernel,
          launch.site.file,
          launch.site.line,
          launch.grid,
          launch.block,
          launch.shared_bytes,
          launch.device,
          launch.stream,
          launch.meeting != nullptr,
          status};
}

std::uint64_t blocks_to_start(const running_launch& launch) {
  const std::uint64_t next = launch.next_block.load();
  std::uint64_t count = next < launch.block_count ? launch.block_count - next : 0;
  const std::lock_guard lock(launch.returned_mutex);
  for (const auto& [begin, end] : launch.returned) count += end - begin;
  return count;
}

void give_back_blocks(worker& w) {
  if (w.range_next >= w.range_end) return;
  const std::lock_guard lock(w.launch->returned_mutex);
  w.launch->returned.emplace_back(w.range_next, w.range_end);
  w.range_end = w.range_next;
  w.launch->any_returned.store(true, std::memory_order_release);
}

void work_on(running_launch& launch) {
  worker& w = this_worker();
  w.launch = &launch;
  w.os_thread_id = gettid();  // another one after a fork
  blockDim = launch.block;
  gridDim = launch.grid;
  prepare_order(w, launch);
  progress.order = w.order.data();
  progress.count = static_cast<unsigned>(w.order.size());
  progress.end = progress.order + progress.count;
  progress.row = launch.order == thread_order::forward ? launch.block.x : 0;
  progress.dynamic_shared =
      w.shared_end - (launch.shared_bytes + 15) / 16 * 16;  // its end is close to the guard page

  w.notes.watched.store(false);
  w.notes.wants_states.store(false);
  w.notes.fresh.store(false);
  w.notes.looked_at = nullptr;
  w.stacks[0].own_top = static_cast<char*>(__builtin_frame_address(0));
  progress.self = &w;
  w.in_kernel.store(true, std::memory_order_release);
  while (launch.error.load(std::memory_order_relaxed) == 0) {
    block_range range{&w, &launch, 0, 0};
    if (!take_blocks(launch, range)) break;
    if (cpu_device_guarded_call(&w.abort_sp, &run_blocks, &range) != 0) {
      w.in_kernel.store(false, std::memory_order_release);
      w.notes.in_blocks.store(false);
      w.notes.rests.store(false);
      w.writes_report.store(false);  // an observer may have failed
      progress.watching = progress.copies_arguments = false;
#ifdef CPU_DEVICE_ASAN
      // The sanitizer did not see the jump: we are on the base stack, and what lies below this
      // frame is free again.
      const char* here = static_cast<char*>(__builtin_frame_address(0)) - 256;
      const fiber_stack& base = w.stacks[0];
      __sanitizer_start_switch_fiber(nullptr, base.low,
                                     static_cast<std::size_t>(base.top - base.low));
      __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
      __asan_unpoison_memory_region(base.low, static_cast<std::size_t>(here - base.low));
#endif
      std::fesetround(FE_TONEAREST);  // __dadd_ru and the like may have been interrupted
      report_problem(w, launch);
      forget_block(w);
      if (listening(event_kind::block)) publish_block(w, &observer::block_ends, true);
      break;
    }
  }
  w.in_kernel.store(false, std::memory_order_release);
  w.notes.watched.store(false);
  if (hooks.share_ends != nullptr) hooks.share_ends(w);
  progress.self = nullptr;
  w.launch = nullptr;
}

}  // namespace cpu_device
