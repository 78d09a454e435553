// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// One thread that looks at the launches that run. It reads how far their workers have come, so that
// kernels need not say so. Where threads and blocks begin and end it only looks. Where none does
// for a while,
//   - workers get signals, so that the threads of their blocks take turns (engine/turns.cpp);
//   - further OS threads begin further blocks, as many as would be resident on a GPU;
//   - a launch whose threads all wait or spin, in states that come again and again, is a deadlock
//     if memory stays as it is;
//   - a launch without progress for the time limit is ended. It is progress, too, if nothing ends
//     and something is new: at barriers, or in memory.

#include "observers/watchdog.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "base/hashing.hpp"
#include "engine/kernel_code.hpp"

namespace cpu_device {
namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kUsualTick = 10ms;
constexpr auto kShortTick = 200us;
constexpr auto kLongTick = 3200us;
constexpr auto kStalled = 20ms;      // without progress: something may spin
constexpr auto kStalledAgain = 1ms;  // the same where something has spun before
constexpr auto kCertainlyStalled = 100ms;
constexpr auto kDeadlock = 1s;  // that all threads keep coming back to the same states
constexpr unsigned kTicksUntilSleep = 20;
constexpr auto kLookAtBarriers = 30ms;  // to the next look at the states of threads there
constexpr double kReadings = 8;         // of memory, in a time limit, at least
constexpr auto kPause = 200ms;          // ... from one to the next, where there may be more
constexpr std::size_t kReadAtOnce = std::size_t{4}
                                    << 20;  // bytes: who begins a launch waits for it

template <class T>
T peek_at(const T& variable) {  // another OS thread changes it
  return __atomic_load_n(&variable, __ATOMIC_RELAXED);
}

/// How far a worker has come.
struct view {
  std::uint32_t serial = 0;
  unsigned finished = 0, waits = 0, barriers = 0;
  const thread_position *position = nullptr, *next = nullptr;

  static view of(const worker& w) {
    view v;
    v.serial = peek_at(w.serial);
    v.finished = peek_at(w.progress->finished);
    v.waits = peek_at(w.progress->waits);
    v.position = peek_at(w.progress->position);
    v.next = peek_at(w.progress->next);
    v.barriers = peek_at(w.block_epoch);
    for (const unsigned& epoch : w.warp_epoch) v.barriers += peek_at(epoch);
    return v;
  }
  bool same_thread(const view& v) const {
    return serial == v.serial && waits == v.waits && position == v.position;
  }
  /// Has a thread or a block begun or ended since `v`?
  bool moved(const view& v) const {
    return serial != v.serial || finished != v.finished || next != v.next ||
           (waits == v.waits && position != v.position);
  }
};

/// The processor time of all threads of this process.
clock::duration processor_time() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

struct watched_launch {
  clock::time_point moved, limited, lively;  // when it last did
  clock::time_point looked_at_barriers{};
  clock::duration used_then{};  // the processor time when it last moved
  bool stalled = false, has_stalled = false;
  unsigned ticks = 0, active = 0;
  clock::duration tick = kUsualTick;
  clock::time_point told{};  // to end
  memory_news news;
  std::map<worker*, view> views;
};

/// Enough looks at a block that found what had been there before? With a new state in each round,
/// `quiet` is halved once a round, and stays below two rounds.
bool is_quiet(worker& w) {
  if (w.waits_for_blocks.load(std::memory_order_acquire)) return true;
  const unsigned spinning = (peek_at(w.tail) - peek_at(w.head)) + 1;
  return w.notes.quiet.load(std::memory_order_relaxed) >= 2 * spinning + 16;
}

class watch_thread {
 public:
  static watch_thread& instance() {
    static auto* self = new watch_thread;
    return *self;
  }
  void begin(running_launch& launch) {
    const std::lock_guard lock(mutex_);
    if (owner_ != getpid()) {
      owner_ = getpid();
      running_ = asleep_ = false;
      launches_.clear();
      new (&changed_) std::condition_variable;  // it counts those who wait
    }
    watched_launch& mine = launches_[&launch];
    mine = {};
    mine.moved = mine.limited = mine.lively = clock::now();
    mine.used_then = processor_time();
    mine.has_stalled = spinning_kernels_.count(launch.run) != 0;
    if (!running_) {
      running_ = true;
      std::thread([this] { watch(); }).detach();
    } else if (asleep_ || mine.has_stalled) {
      asleep_ = false;
      changed_.notify_all();
    }
  }
  void hold() { mutex_.lock(); }
  void release() { mutex_.unlock(); }
  void end(running_launch& launch) {
    const std::lock_guard lock(mutex_);
    launches_.erase(&launch);
  }

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    unsigned idle = 0;
    for (;;) {
      clock::duration tick = kUsualTick;
      const bool were_wanted = barriers_wanted_;
      barriers_wanted_ = false;
      for (auto& [launch, state] : launches_) {
        look_at(*launch, state, clock::now());
        tick = std::min(tick, state.tick);
      }
      // Only until each worker has passed one: barriers take longer meanwhile.
      if (barriers_wanted_ != were_wanted)
        want_events(barriers_wanted_ ? static_cast<event_set>(event_kind::barrier) : 0);
      idle = launches_.empty() ? idle + 1 : 0;
      asleep_ = idle >= kTicksUntilSleep;
      if (asleep_)
        changed_.wait(lock, [&] { return !asleep_; });
      else
        changed_.wait_for(lock, tick);
    }
  }

  void look_at(running_launch& launch, watched_launch& state, clock::time_point now) {
    bool moved = false, passed = false, novel = false, fresh = false, looked = true, quiet = true;
    // When threads of a block meet, and the launch has stood still so far.
    const bool look_at_barriers = state.stalled && now - state.looked_at_barriers > kLookAtBarriers;
    if (look_at_barriers) state.looked_at_barriers = now;
    unsigned active = 0;
    ++state.ticks;
    for_workers_of(launch, [&](worker& w) {
      ++active;
      const view v = view::of(w);
      const bool first = state.views.count(&w) == 0;
      view& before = state.views[&w];
      moved = moved || first || v.moved(before);
      passed = passed || v.barriers != before.barriers;
      novel = w.notes.novel.exchange(false) || novel;
      fresh = w.notes.fresh.exchange(false) || fresh;
      looked = looked && (w.notes.quiet.load() >= 2 || w.waits_for_blocks.load());
      quiet = quiet && is_quiet(w);
      if (state.stalled && !w.notes.watched.load()) watch_worker(w);
      // Who runs one thread since the last look is asked to look at it; who passes barriers, too,
      // from time to time.
      if (state.stalled && !w.notes.rests.load() && !w.waits_for_blocks.load() &&
          (v.same_thread(before) || w.notes.quiet.load() != 0 || state.ticks % 32 == 0)) {
        const unsigned leave = w.notes.leave.load();
        if (leave == 0)
          ask_to_look(w);
        else
          w.notes.leave.store(leave - 1);
      }
      if (look_at_barriers) ask_for_states(w);
      barriers_wanted_ = barriers_wanted_ || w.notes.wants_states.load();
      before = v;
    });
    moved = moved || active != state.active;  // a worker has left: its last block has ended
    state.active = active;
    const clock::duration used = processor_time();
    if (moved) {
      state.moved = now;
      state.used_then = used;
    }
    const bool counts = now - state.moved < kNewsMayTake * time_limit();
    if (moved || (fresh && counts)) {
      state.limited = now;
      state.news.expect_none_before(now);
    } else if (state.stalled && state.news.found(now, kReadAtOnce) && counts) {
      state.limited = state.lively = now;
    }
    // Some may still be on their way to their first block.
    if (moved || passed || !quiet || active < launch.workers.load()) state.lively = now;
    if (moved || passed) for_workers_of(launch, [](worker& w) { w.notes.quiet.store(0); });

    // Each one that wakes up spins until the next look. Together they must leave time to others.
    const long rest =
        std::max<long>(1, active / worker_count()) * std::chrono::nanoseconds(kShortTick).count();
    for_workers_of(launch, [&](worker& w) { w.notes.longest_rest.store(rest); });

    // On a busy machine a launch stands still because it has no processor: that needs no help.
    const auto still = std::min<clock::duration>(now - state.moved, used - state.used_then);
    state.stalled = active != 0 && still > (state.has_stalled ? kStalledAgain : kStalled);
    if (!state.stalled) {
      state.tick = state.has_stalled ? kShortTick * 2 : kUsualTick;
      return end_if_overdue(launch, state, now);
    }
    if (!launch.one_by_one.exchange(true)) learn_kernel_code(reinterpret_cast<void*>(launch.run));
    state.has_stalled = true;
    if (looked) spinning_kernels_.insert(launch.run);
    // Threads that compute are looked at less and less often.
    state.tick = novel ? std::min<clock::duration>(state.tick * 2, kLongTick) : kShortTick;

    const std::uint64_t to_start = launch.meeting != nullptr ? 0 : blocks_to_start(launch);
    const std::uint64_t room = launch.resident > active ? launch.resident - active : 0;
    bool more_come = false;
    if (to_start != 0 && room != 0 && (looked || still > kCertainlyStalled))
      more_come = call_helpers(launch, static_cast<unsigned>(std::min(to_start, room))) != 0;
    if (!more_come && now - state.lively > kDeadlock && state.news.none_found())
      end_as(failure::kind::deadlock, launch, state, now);
    end_if_overdue(launch, state, now);
  }

  void watch_worker(worker& w) {
    if (w.notes.seen == nullptr) w.notes.seen = std::make_unique<seen_states>(4096);
    w.notes.timer.make_for(w.os_thread_id);
    w.notes.quiet.store(0);
    w.notes.watched.store(true, std::memory_order_release);
  }

  static void ask_for_states(worker& w) {
    if (w.notes.at_barriers == nullptr)
      w.notes.at_barriers = std::make_unique<seen_states>(std::size_t{1} << 15);
    w.notes.wants_states.store(true, std::memory_order_release);
  }

  void end_if_overdue(running_launch& launch, watched_launch& state, clock::time_point now) {
    if (now - state.limited <= time_limit()) return;
    // On a busy machine nothing is new because nobody had a processor, or nobody has looked.
    const bool nothing_is_new = state.stalled && state.news.none_found();
    if (nothing_is_new || now - state.moved > kNewsMayTake * time_limit())
      end_as(failure::kind::time_limit, launch, state, now);
  }

  void end_as(failure::kind kind, running_launch& launch, watched_launch& state,
              clock::time_point now) {
    if (now - state.told < 100ms) return;  // again, should a worker not have stopped
    state.told = now;
    int none = 0;
    launch.ended_as.compare_exchange_strong(none, static_cast<int>(kind));
    for_workers_of(launch, [](worker& w) {
      if (!w.waits_for_blocks.load(std::memory_order_acquire))  // it waits for a slow one
        ask_to_look(w);
    });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<running_launch*, watched_launch> launches_;
  std::set<void (*)(const void*)> spinning_kernels_;  // of earlier launches
  bool running_ = false, asleep_ = false, barriers_wanted_ = false;
  pid_t owner_ = getpid();
};

}  // namespace

std::uint64_t (*hash_of_variables)() = nullptr;

std::chrono::duration<double> time_limit() {
  return std::chrono::duration<double>(time_limit_seconds());
}

// Readings take a tenth of the time, or more of it where there would be too few in a time limit.
memory_news::clock::duration memory_news::pause() const {
  const auto most = std::chrono::duration_cast<clock::duration>(time_limit() / kReadings);
  return std::min(most, std::max<clock::duration>(kPause, 10 * duration_));
}

void memory_news::expect_none_before(clock::time_point now) {
  readings_ = 0;
  reading_ = {};
  began_.reset();
  next_ = now + pause();
}

bool memory_news::found(clock::time_point now, std::size_t bytes) {
  if (now < next_) return false;
  if (!began_) began_ = now;
  const std::optional<std::uint64_t> read = reading_.go_on(bytes);
  if (!read) return false;
  const clock::time_point end = clock::now();
  duration_ = end - *began_;
  began_.reset();
  next_ = end + pause();
  if (seen_ == nullptr) seen_ = std::make_unique<seen_states>(std::size_t{1} << 10);
  const std::uint64_t variables = hash_of_variables == nullptr ? 0 : hash_of_variables();
  const bool is_new = seen_->add(mix(*read, variables) | 1U);
  const bool is_news = readings_ != 0 && is_new;
  readings_ = is_news ? 1 : readings_ + 1;
  return is_news;
}

void hold_watchdog() { watch_thread::instance().hold(); }
void release_watchdog() { watch_thread::instance().release(); }

watchdog::watchdog(running_launch& launch) : launch_(launch) {
  watch_thread::instance().begin(launch_);
}
watchdog::~watchdog() { watch_thread::instance().end(launch_); }

}  // namespace cpu_device
