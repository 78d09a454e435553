// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/time_kernel.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>

#include "lab/cuda_check.hpp"
#include "lab/device_limits.hpp"
#include "lab/nvtx_range.hpp"
#include "lab/timer.hpp"

namespace lab {
namespace {

repeated_timing* repeating = nullptr;  // the newest that lives

constexpr float kSampleMs = 1;      // shorter than this, and the clock's steps would show
constexpr int kMostLaunches = 200;  // of a sample: a stream takes about a thousand before it blocks
constexpr double kMostSeconds = 3;  // for all samples of one kernel
constexpr int kFewestSamples = 3;

/// Holds the default stream back until all launches of a sample are queued: otherwise the time of a
/// short kernel would be that of the host, which is slower to launch it than the device to run it.
class gate {
 public:
  gate() {
    CUDA_CHECK(cudaLaunchHostFunc(
        nullptr, [](void* self) { static_cast<gate*>(self)->wait(); }, this));
  }
  ~gate() {
    open();
    CUDA_CHECK_NOTHROW(cudaStreamSynchronize(nullptr));  // wait() has come back
  }
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;

  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_one();
  }
  /// Whether the device had to go on without being told to, since the host waited for the device.
  bool forced() {
    const std::lock_guard lock(mutex_);
    return forced_;
  }

 private:
  void wait() {
    std::unique_lock lock(mutex_);
    forced_ = !opened_.wait_for(lock, std::chrono::milliseconds(100), [&] { return open_; });
  }

  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false, forced_ = false;
};

/// Launches that are timed together. The mean of their times in milliseconds.
float time_sample(detail::work_ref launch, int launches, bool* may_hold_back, const char* file,
                  int line) {
  event_timer timer;
  const auto queue_all = [&] {
    timer.start();
    for (int i = 0; i < launches; ++i) launch();
    timer.stop();
    detail::cuda_check(cudaGetLastError(), "a kernel launch", file, line);
  };
  if (*may_hold_back) {
    gate held;
    queue_all();
    held.open();
    const float all = timer.milliseconds();
    if (held.forced()) *may_hold_back = false;
    return all / static_cast<float>(launches);
  }
  queue_all();
  return timer.milliseconds() / static_cast<float>(launches);
}

}  // namespace

float detail::time_on_device(work_ref launch, work_ref restore, const char* file, int line) try {
  const std::string_view path = file;
  const nvtx_range range("time_kernel " + std::string(path.substr(path.rfind('/') + 1)) + ":" +
                         std::to_string(line));
  bool may_hold_back = false;
  if (restore) restore();
  const float once = time_sample(launch, 1, &may_hold_back, file, line);
  if (repeating == nullptr || repeating->samples_ == 0) return once;

  // The CPU device runs a host function in the thread that waits for it: the gate would stay shut.
  // And where the host waits for the device in between, finding that out takes longer than a single
  // sample is worth.
  may_hold_back = !on_cpu_device() && repeating->samples_ > 1;
  int launches = 1;
  if (!restore && !on_cpu_device() && once < kSampleMs)
    launches = std::clamp(static_cast<int>(std::ceil(kSampleMs / std::max(once, 1e-3F))), 1,
                          kMostLaunches);
  const host_timer since;
  std::vector<float> times;
  for (int sample = 0; sample < repeating->samples_; ++sample) {
    if (sample >= kFewestSamples && since.milliseconds() > 1000 * kMostSeconds) break;
    if (restore) restore();
    times.push_back(time_sample(launch, launches, &may_hold_back, file, line));
  }
  repeating->timings_.push_back(summarize(times));
  return static_cast<float>(repeating->timings_.back().median_ms);
} catch (...) {
  // What was launched may use what the caller's destructors are about to destroy.
  CUDA_CHECK_NOTHROW(cudaStreamSynchronize(nullptr));
  throw;
}

repeated_timing::repeated_timing(int samples) : samples_(samples), before_(repeating) {
  if (samples < 0) throw std::logic_error("repeated_timing: a negative number of samples");
  repeating = this;
  if (detail::tell_of_samples != nullptr) detail::tell_of_samples(samples);
}
repeated_timing::~repeated_timing() {
  repeating = before_;
  if (detail::tell_of_samples != nullptr)
    detail::tell_of_samples(before_ == nullptr ? 0 : before_->samples_);
}

}  // namespace lab
