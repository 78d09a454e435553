// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// time_kernel: the time of a kernel, without events of your own.
#pragma once

#include <vector>

#include "lab/report.hpp"

namespace lab {
namespace detail {

/// A callable that other code owns, without its type.
struct work_ref {
  const void* object = nullptr;
  void (*call)(const void* object) = nullptr;

  explicit operator bool() const { return call != nullptr; }
  void operator()() const { call(object); }
};

template <class Work>
work_ref refer_to(const Work& work) {
  return {&work, [](const void* object) { (*static_cast<const Work*>(object))(); }};
}

float time_on_device(work_ref launch, work_ref restore, const char* file, int line);

/// Is told of the samples that are taken from now on, 0 for none. A grader has it, since its
/// student's time_kernel() runs in another process.
inline void (*tell_of_samples)(int samples) = nullptr;

}  // namespace detail

/// The time in milliseconds that the device spends on what `launch` puts into the default stream:
///
///     const float ms = time_kernel([&] { scale<<<blocks, threads>>>(x.data(), n); });
///
/// It checks the launch and waits until the work is done: a failure throws lab::cuda_error, which
/// for a refused launch names the line of this call.
///
/// A test runs `launch` once, or twice (in one of its thread orders; more often on a GPU). A
/// program that reports the kernel's time (program::report_kernel()) runs it as often as --repeat
/// says: first once to warm up, then in samples of about a millisecond each. Unless there is only
/// one, all launches of a sample are queued before the device starts the first. The result is then
/// the median of the samples. So `launch` must be repeatable.
template <class Launch>
float time_kernel(const Launch& launch, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  return detail::time_on_device(detail::refer_to(launch), {}, file, line);
}

/// The same for work in place, such as a sort: `restore` brings the data back to where it was. It
/// runs before each launch, and its time does not count.
template <class Launch, class Restore>
requires requires(const Restore& restore) { restore(); }
float time_kernel(const Launch& launch, const Restore& restore, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  return detail::time_on_device(detail::refer_to(launch), detail::refer_to(restore), file, line);
}

/// While one lives, time_kernel() takes many samples. For programs, by report_kernel(). Of several,
/// the newest one counts, and they end in the opposite order.
class repeated_timing {
 public:
  /// Fewer `samples` are taken when they would last longer than some seconds. With 0,
  /// time_kernel() launches once, as where no repeated_timing lives.
  explicit repeated_timing(int samples);
  ~repeated_timing();
  repeated_timing(const repeated_timing&) = delete;
  repeated_timing& operator=(const repeated_timing&) = delete;

  /// What each call of time_kernel() has measured since, in order.
  const std::vector<timing>& timings() const { return timings_; }

 private:
  friend float detail::time_on_device(detail::work_ref, detail::work_ref, const char*, int);
  int samples_;
  repeated_timing* before_;
  std::vector<timing> timings_;
};

}  // namespace lab
