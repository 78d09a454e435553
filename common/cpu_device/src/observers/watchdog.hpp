// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Progress, and its end. Internal to the CPU device.
#pragma once

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

/// Around a fork: the watchdog is not in the middle of a look.
void hold_watchdog();
void release_watchdog();

}  // namespace cpu_device
