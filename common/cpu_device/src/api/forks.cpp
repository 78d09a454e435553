// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A process that forks. The new one has the device's memory, and of its threads only the one that
// called fork(). If no other thread is inside of a call, it goes on with a device of its own. If
// one is, that thread may run a kernel for as long as it likes, and what it was changing stays half
// changed in the new process: there, each call fails, and the first one says why.

#include "api/forks.hpp"

#include <pthread.h>
#include <sched.h>

#include <chrono>
#include <mutex>
#include <new>

#include "base/report.hpp"
#include "context/device.hpp"
#include "engine/engine.hpp"
#include "observers/watchdog.hpp"

namespace cpu_device {
namespace {

constinit bool busy_at_fork = false;
constinit bool lost = false;

void before_fork() {
  // Most calls take less than this.
  const auto patience = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  bool locked = api_mutex().try_lock();
  while (!locked && std::chrono::steady_clock::now() < patience) {
    sched_yield();
    locked = api_mutex().try_lock();
  }
  busy_at_fork = !locked;
  hold_watchdog();
  hold_workers();
  hold_reports();
}

void after_fork() {
  release_reports();
  release_workers();
  release_watchdog();
}

void after_fork_in_parent() {
  after_fork();
  if (!busy_at_fork) api_mutex().unlock();
}

void after_fork_in_child() {
  after_fork();
  // It knows its owner by a number that the new process does not have. One that a function above
  // this one has locked is unlocked once more, in vain.
  new (&api_mutex()) std::recursive_mutex;
  lost = lost || busy_at_fork;
}

[[maybe_unused]] const bool registered =
    (pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child), true);

}  // namespace

bool lost_in_fork() { return lost; }

void explain_loss(const char* function) {
  static std::once_flag once;
  std::call_once(once, [&] {
    explain(std::string(function) +
            " fails, as every call does from now on: this process was forked while another thread "
            "was inside of a call, such as a kernel that runs. Try: fork before the first call, or "
            "while no other thread uses the device; a process that is to start another program may "
            "do so at any time (exec).");
  });
}

}  // namespace cpu_device
