// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Progress, and its end. Internal to the CPU device.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/memory.hpp"
#include "engine/engine.hpp"

namespace cpu_device {

/// While it lives, its launch is watched: all of its threads make progress, and it is ended when
/// none can, or when there was none for the time limit (CPU_DEVICE_TIME_LIMIT seconds).
class watchdog {
 public:
  explicit watchdog(running_launch& launch);
  ~watchdog();
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;

 private:
  running_launch& launch_;
};

/// The time limit is for launches and loops in which nothing is new. What is new for ever, as in a
/// loop that counts, ends after this many limits.
std::chrono::duration<double> time_limit();
constexpr double kNewsMayTake = 20;

/// Asks, again and again, whether the memory that kernels can write to holds what it has never
/// held.
class memory_news {
 public:
  using clock = std::chrono::steady_clock;

  /// There was other progress: what memory holds after it is no news.
  void expect_none_before(clock::time_point now);
  /// To be asked often. Reads up to `bytes` bytes; true when a reading of all has found news.
  bool found(clock::time_point now, std::size_t bytes);
  /// Whether the last reading had one to be compared with, and found none.
  bool none_found() const { return readings_ > 1; }

 private:
  clock::duration pause() const;

  memory_reading reading_;
  std::optional<clock::time_point> began_;  // the reading
  clock::duration duration_{};              // of the one before
  clock::time_point next_{};
  unsigned readings_ = 0;              // since there was other progress, or news
  std::unique_ptr<seen_states> seen_;  // most launches need none
};

/// A number for the values of all `__device__` variables, set by who knows these.
extern std::uint64_t (*hash_of_variables)();

/// Around a fork: the watchdog is not in the middle of a look.
void hold_watchdog();
void release_watchdog();

}  // namespace cpu_device
