// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The OS threads that share the blocks of a launch: how many there are, who they are, and in which
// order the threads and blocks start.

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <numeric>
#include <set>
#include <thread>

#include "base/report.hpp"
#include "engine/engine.hpp"

namespace cpu_device {
namespace {

constexpr unsigned kMostWorkers = 64;  // unless CPU_DEVICE_WORKERS says more

/// OS threads that help the launching one. They sleep between launches.
class worker_pool {
 public:
  static worker_pool& instance() {
    static auto* pool = new worker_pool;  // never destroyed: its threads may outlive main
    return *pool;
  }
  /// For blocks that wait for each other: more of them, so they are not woken for ordinary
  /// launches.
  static worker_pool& cooperative() {
    static auto* pool = new worker_pool;
    return *pool;
  }

  /// More helpers for a launch that runs; how many are still on their way to it.
  unsigned call(running_launch& launch, unsigned helpers) {
    unsigned coming = 0;
    {
      const std::lock_guard lock(mutex_);
      forget_after_fork();
      if (launch.closed || (launch_ != nullptr && launch_ != &launch)) return 0;
      if (launch_ != nullptr && !is_extra_ && wanted_ != 0) return wanted_;  // they come
      if (launch_ == nullptr) wanted_ = 0;
      const std::uint64_t running = launch.workers.load();
      const std::uint64_t room = launch.resident > running ? launch.resident - running : 0;
      wanted_ = static_cast<unsigned>(std::min<std::uint64_t>(std::max(wanted_, helpers), room));
      while (threads_ - busy_ < wanted_ && start_thread()) ++threads_;
      wanted_ = std::min(wanted_, threads_ - busy_);
      launch_ = &launch;
      is_extra_ = true;
      coming = wanted_;
    }
    work_.notify_all();
    return coming;
  }
  void hold() { mutex_.lock(); }
  void release() { mutex_.unlock(); }

  /// Waits until those who were called have done their work. Nobody comes any more.
  void dismiss(running_launch& launch) {
    std::unique_lock lock(mutex_);
    launch.closed = true;
    if (launch_ != &launch) return;
    launch_ = nullptr;
    wanted_ = 0;
    done_.wait(lock, [&] { return busy_ == 0; });
  }

  /// With as many helpers as can be had: false if the system has not enough for the launch.
  bool run(running_launch& launch, unsigned helpers) {
    {
      std::unique_lock lock(mutex_);
      forget_after_fork();
      while (threads_ < helpers && start_thread()) ++threads_;
      if (threads_ + 1 < launch.together) return false;
      helpers = std::min(helpers, threads_);
      launch.workers.store(helpers + 1);
      if (helpers == 0) {
        lock.unlock();
        work_on(launch);
        --launch.workers;
        return true;
      }
      launch_ = &launch;
      is_extra_ = false;
      wanted_ = helpers;
      busy_ = 0;
    }
    work_.notify_all();
    work_on(launch);
    --launch.workers;
    std::unique_lock lock(mutex_);
    launch_ = nullptr;  // helpers that have not woken yet need not
    done_.wait(lock, [&] { return busy_ == 0; });
    return true;
  }

 private:
  void forget_after_fork() {  // the threads are gone
    if (owner_ == getpid()) return;
    owner_ = getpid();
    threads_ = wanted_ = busy_ = 0;
    launch_ = nullptr;
    new (&work_) std::condition_variable;  // they count those who wait
    new (&done_) std::condition_variable;
  }
  bool start_thread() {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 1 << 20);
    pthread_t thread;
    const int status = pthread_create(
        &thread, &attributes,
        [](void* self) -> void* {
          static_cast<worker_pool*>(self)->help();
          return nullptr;
        },
        this);
    pthread_attr_destroy(&attributes);
    if (status == 0) pthread_detach(thread);
    return status == 0;
  }

  [[noreturn]] void help() {
    for (;;) {
      running_launch* launch = nullptr;
      {
        std::unique_lock lock(mutex_);
        work_.wait(lock, [&] { return launch_ != nullptr && wanted_ > 0; });
        launch = launch_;
        --wanted_;
        ++busy_;
        if (is_extra_) ++launch->workers;
      }
      work_on(*launch);
      --launch->workers;
      {
        std::unique_lock lock(mutex_);
        if (--busy_ == 0) done_.notify_all();
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable work_, done_;
  running_launch* launch_ = nullptr;
  bool is_extra_ = false;  // who comes was called in addition to those that run() counted
  unsigned wanted_ = 0, busy_ = 0, threads_ = 0;
  pid_t owner_ = getpid();
};

/// Of what the process may write to (RLIMIT_DATA), the stacks get half. Each worker may need those
/// of a block with as many threads as a block can have.
unsigned workers_with_room() {
  rlimit data{};
  if (getrlimit(RLIMIT_DATA, &data) != 0 || data.rlim_cur == RLIM_INFINITY) return kMostWorkers;
  const rlim_t room = data.rlim_cur / 2 / (kMaxThreads * kStackBytes);
  return static_cast<unsigned>(std::clamp<rlim_t>(room, 1, kMostWorkers));
}

unsigned read_worker_count() {
  if (const char* text = std::getenv("CPU_DEVICE_WORKERS")) {
    const long wanted = std::strtol(text, nullptr, 10);
    if (wanted >= 1 && wanted <= 256) return static_cast<unsigned>(wanted);
    std::fprintf(stderr, "CPU device: CPU_DEVICE_WORKERS=%s is ignored: it must be 1 to 256.\n",
                 text);
  }
  const unsigned most = workers_with_room();
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return std::clamp(static_cast<unsigned>(CPU_COUNT(&set)), 1U, most);
  return std::clamp(std::thread::hardware_concurrency(), 1U, most);
}

struct order_setting {
  thread_order order = thread_order::forward;
  unsigned seed = 0;
};

order_setting read_order() {
  const char* text = std::getenv("CPU_DEVICE_ORDER");
  if (text == nullptr || *text == '\0' || std::strcmp(text, "forward") == 0) return {};
  if (std::strcmp(text, "reverse") == 0) return {thread_order::reverse, 0};
  if (std::strcmp(text, "random") == 0) return {thread_order::random, 1};
  if (std::strncmp(text, "random:", 7) == 0)
    return {thread_order::random, static_cast<unsigned>(std::strtoul(text + 7, nullptr, 10))};
  std::fprintf(stderr,
               "CPU device: CPU_DEVICE_ORDER=%s is ignored: it is forward, reverse, random or "
               "random:SEED.\n",
               text);
  return {};
}

std::mutex registry_mutex;
std::set<worker*>& registry() {
  static auto* all = new std::set<worker*>;
  return *all;
}

std::atomic<std::uint64_t> first_wanted = 0, count_wanted = kEveryBlock;

std::mutex order_mutex;
order_setting& order_now() {
  static order_setting setting = read_order();
  return setting;
}

}  // namespace

unsigned worker_count() {
  static const unsigned count = read_worker_count();
  return count;
}

unsigned blocks_per_worker() { return std::clamp(1024 / worker_count(), 2U, 32U); }

void set_thread_order(thread_order order, unsigned seed) {
  const std::lock_guard lock(order_mutex);
  order_now() = {order, seed};
}

void set_blocks_that_run(std::uint64_t first, std::uint64_t count) {
  first_wanted = first;
  count_wanted = count;
}

thread_order current_order(unsigned& seed) {
  const std::lock_guard lock(order_mutex);
  order_setting& setting = order_now();
  seed = setting.seed;
  if (setting.order == thread_order::random) setting.seed = setting.seed * 1664525U + 1013904223U;
  return setting.order;
}

double time_limit_seconds() {
  static const double seconds = [] {
    if (const char* text = std::getenv("CPU_DEVICE_TIME_LIMIT")) {
      const double wanted = std::strtod(text, nullptr);
      if (wanted > 0) return wanted;
    }
    return 30.0;
  }();
  return count_wanted == kEveryBlock ? seconds : 4 * seconds;
}

void register_worker(worker& w) {
  const std::lock_guard lock(registry_mutex);
  registry().insert(&w);
}
void unregister_worker(worker& w) {
  const std::lock_guard lock(registry_mutex);
  registry().erase(&w);
}
void for_workers_of(const running_launch& launch, const std::function<void(worker&)>& visit) {
  const std::lock_guard lock(registry_mutex);
  for (worker* w : registry())
    if (w->launch == &launch && w->in_kernel.load(std::memory_order_acquire)) visit(*w);
}

void hold_workers() {
  worker_pool::cooperative().hold();
  worker_pool::instance().hold();
  registry_mutex.lock();
}
void release_workers() {
  registry_mutex.unlock();
  worker_pool::instance().release();
  worker_pool::cooperative().release();
}

unsigned call_helpers(running_launch& launch, unsigned count) {
  return worker_pool::cooperative().call(launch, count);
}

cudaError_t run_launch(running_launch& launch) {
  launch.block_count = std::uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
  if (launch.order == thread_order::random) {
    std::uint64_t state = launch.seed;
    std::uint64_t count = launch.block_count;  // clusters are walked as a whole
    if (launch.clusters != nullptr) count /= launch.clusters->size;
    launch.block_step = next_random(state) % count;
    while (std::gcd(launch.block_step, count) != 1) ++launch.block_step;
    launch.block_first = next_random(state) % count;
  }
  static std::atomic<std::uint32_t> serials{1};
  launch.first_serial = serials.fetch_add(static_cast<std::uint32_t>(launch.block_count));
  if (launch.together == 1) {
    launch.first_wanted = first_wanted;
    launch.count_wanted = count_wanted;
  }
  // Who is there for blocks that need each other, and for as many others as there are cores.
  const std::uint64_t workers =
      std::min(std::max<std::uint64_t>(worker_count(), launch.together), launch.block_count);
  worker_pool& pool = launch.together != 1 ? worker_pool::cooperative() : worker_pool::instance();
  const bool enough = pool.run(launch, static_cast<unsigned>(workers) - 1);
  worker_pool::cooperative().dismiss(launch);
  if (!enough) return cudaErrorLaunchOutOfResources;
  if (!launch.stuck_blocks.empty()) report(describe_deadlock(launch));
  return static_cast<cudaError_t>(launch.error.load());
}

}  // namespace cpu_device
