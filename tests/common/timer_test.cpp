// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/timer.hpp"

#include <cuda_runtime.h>
#include <gtest/gtest.h>
#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#endif

#include <chrono>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>

#include "lab/cuda_check.hpp"

namespace {

using namespace std::chrono_literals;

TEST(HostTimer, GoesOnFromConstructionAndRestart) {
  lab::host_timer timer;
  std::this_thread::sleep_for(20ms);
  const double first = timer.milliseconds();
  EXPECT_GE(first, 20);
  EXPECT_GE(timer.milliseconds(), first);
  timer.restart();
  EXPECT_LT(timer.milliseconds(), first);
}

/// Keeps the stream busy for at least 30 ms.
void be_busy(cudaStream_t stream) {
  CUDA_CHECK(cudaLaunchHostFunc(
      stream, [](void*) { std::this_thread::sleep_for(30ms); }, nullptr));
}

TEST(EventTimer, WaitsForTheStreamAndMeasuresWhatItDoes) {
#ifdef __CPU_DEVICE__
  // Work runs when the host waits for it, not before.
  cpu_device::set_stream_policy(cpu_device::stream_policy::deferred);
#endif
  cudaStream_t stream = nullptr;
  CUDA_CHECK(cudaStreamCreate(&stream));
  lab::event_timer timer;
  timer.start(stream);
  be_busy(stream);
  timer.stop();
  EXPECT_GE(timer.milliseconds(), 29);
  EXPECT_LT(timer.milliseconds(), 5000);
  timer.start(stream);
  timer.stop();
  EXPECT_LT(timer.milliseconds(), 29);  // used again, it forgets the first time
  CUDA_CHECK(cudaStreamDestroy(stream));
#ifdef __CPU_DEVICE__
  cpu_device::set_stream_policy(cpu_device::stream_policy::eager);
#endif
}

template <class Timer>
concept starts_on_zero = requires(Timer timer) {
  timer.start(0);
};
template <class Timer>
concept starts_on_a_stream = requires(Timer timer, cudaStream_t stream) {
  timer.start();
  timer.start(stream);
  timer.start(nullptr);
};

TEST(EventTimer, DoesNotTakeZeroForAStream) {
  static_assert(starts_on_a_stream<lab::event_timer>);
  static_assert(!starts_on_zero<lab::event_timer>);
}

TEST(EventTimer, RefusesCallsOutOfOrder) {
  lab::event_timer timer;
  EXPECT_THROW(timer.stop(), std::logic_error);
  EXPECT_THROW((void)timer.milliseconds(), std::logic_error);
  timer.start();
  EXPECT_THROW((void)timer.milliseconds(), std::logic_error);
  timer.stop();
  EXPECT_NO_THROW((void)timer.milliseconds());
}

TEST(EventTimer, HandsItsEventsOn) {
  static_assert(!std::is_copy_constructible_v<lab::event_timer>);
  lab::event_timer first;
  first.start();
  first.stop();
  lab::event_timer second = std::move(first);
  EXPECT_NO_THROW((void)second.milliseconds());
  EXPECT_THROW(first.start(), std::logic_error);  // NOLINT: moved from on purpose
  lab::event_timer third;
  third = std::move(second);
  EXPECT_NO_THROW((void)third.milliseconds());
}

}  // namespace
