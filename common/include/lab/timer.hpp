// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Two stopwatches: the host's clock, and events on a stream.
#pragma once

#include <cuda_runtime.h>

#include <chrono>

namespace lab {

/// Measures host time, from construction on. A kernel launch returns before the kernel has run:
/// around launches it measures the launching, unless the host synchronises before it reads.
class host_timer {
 public:
  host_timer() : start_(std::chrono::steady_clock::now()) {}
  void restart() { start_ = std::chrono::steady_clock::now(); }
  double milliseconds() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point start_;
};

/// Measures what a stream does between start() and stop(), by the device's own clock.
///
/// start() and stop() only put a mark into the stream and return at once; the device sets the
/// time when it gets there. So the time can be read only after the second mark was reached, and
/// milliseconds() waits for it. Without that wait CUDA returns cudaErrorNotReady.
class event_timer {
 public:
  event_timer();
  ~event_timer();
  event_timer(event_timer&& other) noexcept;
  event_timer& operator=(event_timer&& other) noexcept;
  event_timer(const event_timer&) = delete;
  event_timer& operator=(const event_timer&) = delete;

  void start(cudaStream_t stream = nullptr);
  void start(int) = delete;  // `0` is not a stream; the default stream is start()
  /// Marks the end, on the stream that start() was given.
  void stop();
  /// Waits until the stream has passed stop(); then the time since start(). Throws
  /// std::logic_error when start() and stop() were not both called.
  float milliseconds() const;

 private:
  enum class state { idle, started, stopped };
  cudaEvent_t start_ = nullptr;
  cudaEvent_t stop_ = nullptr;
  cudaStream_t stream_ = nullptr;
  state state_ = state::idle;
};

}  // namespace lab
