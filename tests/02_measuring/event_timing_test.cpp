// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "event_timing.hpp"

#include <cuda_runtime.h>

#include <limits>
#include <string>
#include <utility>

#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#endif

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"
#include "lab/timer.hpp"
#include "lab_testing.hpp"
#include "recording.hpp"
#include "reference.hpp"
#include "required_work.hpp"

namespace {

using lab::event_timing::check;
using lab::event_timing::kMostCycles;
using lab::event_timing::measure;
using lab::event_timing::times;
using lab::testing::expect_failures_reported;
using lab::testing::matches;
using lab::testing::work_of;
using lab::testing::work_without_values;

constexpr long long kShort = 3'000'000, kLong = 9'000'000;  // some milliseconds

/// When the CPU device does asynchronous work: at once, or as late as CUDA allows. A GPU decides
/// itself.
enum class when { at_once, late };
#ifdef __CPU_DEVICE__
constexpr when kWhen[] = {when::at_once, when::late};
using lab::testing::detail::before_call;
using lab::testing::detail::has_the_device;
#else
constexpr when kWhen[] = {when::at_once};
#endif

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(TwoKernelsAndEventsAroundThem) {
  const lab::testing::work done =
      work_of([] { return matches(check(measure(1000, 2000), 1000, 2000)); });
  EXPECT_TRUE(as_required(done, {.threads = 1,
                                 .kernels = 2,
                                 .fetched = 2 * sizeof(long long),
                                 .calls = {"cudaEventElapsedTime",
                                           "cudaEventSynchronize|cudaStream"
                                           "Synchronize|cudaDeviceSynchronize"},
                                 .only_shape = true}));
  if (done.kernels.empty()) return;  // as_required() has said so, unless nothing is written yet
  const auto records = done.calls.find("cudaEventRecord");
  EXPECT_GE(records == done.calls.end() ? 0U : records->second, 3U)
      << "events before the first kernel, between, and after the second";
  EXPECT_EQ(lab::testing::waits_between_launches(done), "")
      << "the host waits for the first kernel before it has launched the second";

  // A kernel that lets no cycle pass is launched, too, and both have all of the threads.
  for (const auto& [first, second] : {std::pair{0, 0}, std::pair{0, 1000}, std::pair{1000, 0}}) {
    const lab::testing::work more =
        work_without_values([first = first, second = second] { (void)measure(first, second, 64); });
    EXPECT_EQ(more.kernels.size(), 2U) << first << " and " << second << " cycles";
    for (const auto& kernel : more.kernels) {
      EXPECT_EQ(kernel.blocks, 1U) << "each kernel is one block";
      EXPECT_EQ(kernel.threads_per_block, 64U) << "of as many threads as measure() was told";
    }
  }
}

/// Each test leaves no error behind. (The tests' main checks that it leaves no event behind.)
class Measure : public ::testing::TestWithParam<when> {
 protected:
  void SetUp() override {
#ifdef __CPU_DEVICE__
    using cpu_device::stream_policy;
    cpu_device::set_stream_policy(late() ? stream_policy::deferred : stream_policy::eager);
#endif
  }
  void TearDown() override {
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess)
        << "an error was left in the runtime: the next launch check would report it";
#ifdef __CPU_DEVICE__
    cpu_device::set_stream_policy(cpu_device::stream_policy::eager);
#endif
  }
  static bool late() { return GetParam() == when::late; }
};
INSTANTIATE_TEST_SUITE_P(Work, Measure, ::testing::ValuesIn(kWhen), [](const auto& test) {
  return test.param == when::late ? "late" : "at_once";
});

cudaError_t error_of_launch(unsigned threads, long long cycles = 100) {
  try {
    (void)measure(cycles, cycles, threads);
  } catch (const lab::cuda_error& error) {
    return error.code();
  }
  return cudaSuccess;
}

::testing::AssertionResult refuses_a_block_of(unsigned threads, long long cycles = 100) {
  const cudaError_t code = error_of_launch(threads, cycles);
  if (code != cudaSuccess) return lab::testing::reports_refused_launch(code);
  return ::testing::AssertionFailure()
         << "CUDA launches no block of " << threads << " threads, but no exception was thrown. Is "
         << "cudaGetLastError() checked right after the launch? Or was it another launch, such as "
         << threads << " blocks of one thread? It is <<<blocks, threads>>>.";
}

TEST_P(Measure, AddsUpForAShortAndALongKernel) {
  EXPECT_TRUE(matches(check(measure(kShort, kLong), kShort, kLong)));
}

TEST_P(Measure, AddsUpForALongAndAShortKernel) {
  EXPECT_TRUE(matches(check(measure(kLong, kShort), kLong, kShort)));
}

TEST_P(Measure, AddsUpIfOneKernelDoesNothing) {
  EXPECT_TRUE(matches(check(measure(0, kLong), 0, kLong)));
  EXPECT_TRUE(matches(check(measure(kLong, 0), kLong, 0)));
}

TEST_P(Measure, AddsUpIfBothDoNothing) { EXPECT_TRUE(matches(check(measure(0, 0), 0, 0))); }

TEST(LongKernels, LetMoreCyclesPassThanAnIntHolds) {
  lab::testing::expect_at_full_size([] {  // about a second
    constexpr long long kLonger = (1LL << 31) + 1;
    return matches(check(measure(kLonger, 0), kLonger, 0));
  });
}

TEST_P(Measure, LetsOnlyTheFirstThreadCount) {
  for (const unsigned threads : {2U, 32U, 33U, 1024U})
    EXPECT_TRUE(matches(check(measure(kShort, kShort + 1, threads), kShort, kShort + 1)));
}

TEST_P(Measure, TheWholeIsNotShorterThanAPart) {
  const times t = measure(kShort, kShort);
  EXPECT_GE(t.both_ms, t.first_ms);
  EXPECT_GE(t.both_ms, t.second_ms);
}

TEST_P(Measure, IsToldToAskLater) {
  // check() requires it whenever the kernels cannot have finished. The CPU device is predictable.
  const times t = measure(kLong, kLong);
  EXPECT_TRUE(matches(check(t, kLong, kLong)));
  if (!lab::on_cpu_device())
    GTEST_SKIP() << "whether a GPU has already finished is a matter of timing";
  EXPECT_EQ(t.too_early, late()) << (late() ? "has the host waited before it asked?" : "");
}

#ifdef __CPU_DEVICE__
TEST_P(Measure, AsksForTheTimeOfBothKernels) {
  if (!has_the_device()) GTEST_SKIP() << "when the device works cannot be chosen across processes";
  if (!late()) return;
  // The device is through with the first kernel when the second is launched, as it may be.
  const before_call meanwhile("cudaLaunchKernel", 2, [] { CUDA_CHECK(cudaDeviceSynchronize()); });
  EXPECT_TRUE(measure(kShort, kLong).too_early)
      << "the last event was not reached yet: has the host asked for the time of the first kernel?";
}

TEST_P(Measure, ReadsTheHostsClockWhereItSays) {
  if (!has_the_device()) GTEST_SKIP() << "how long calls take cannot be chosen across processes";
  const auto takes_a_while = [] {
    const lab::host_timer since;
    while (since.milliseconds() < 2) {
    }
  };
  {
    const before_call meanwhile("cudaEventRecord", 3, takes_a_while);
    EXPECT_GE(measure(0, 0).launched_ms, 2) << "not everything had been handed to the device";
  }
  {
    const before_call meanwhile("cudaEventElapsedTime", 1, takes_a_while);
    const times t = measure(0, 0);
    EXPECT_GE(t.asked_ms - t.launched_ms, 2)
        << "CUDA is asked after launched_ms, and has answered before asked_ms";
  }
}
#endif

TEST_P(Measure, ForgetsThePreviousCall) {
  EXPECT_TRUE(matches(check(measure(kLong, kLong), kLong, kLong)));
  const times t = measure(0, kShort);
  EXPECT_TRUE(matches(check(t, 0, kShort)));
  EXPECT_LT(t.first_cycles, kLong) << "this is the number from the previous call";
}

TEST_P(Measure, RefusesCyclesThatCannotPass) {
  constexpr long long kLargest = std::numeric_limits<long long>::max();
  for (const long long cycles : {-1LL, -kLargest - 1, kMostCycles + 1, kLargest}) {
    EXPECT_THROW((void)measure(cycles, 0), lab::invalid_input) << cycles;
    EXPECT_THROW((void)measure(0, cycles), lab::invalid_input) << cycles;
  }
}

TEST_P(Measure, RefusesNoCyclesThatCanPass) {
  // They would take seconds, so this is a launch that is refused, because of its 0 threads.
  EXPECT_TRUE(refuses_a_block_of(0, kMostCycles));
}

TEST_P(Measure, ReportsALaunchThatIsRefused) {
  for (const unsigned threads : {0U, 1025U, 65'537U}) EXPECT_TRUE(refuses_a_block_of(threads));
  EXPECT_TRUE(refuses_a_block_of(0, 0)) << "of kernels that let no cycle pass";
  EXPECT_TRUE(matches(check(measure(kShort, kShort), kShort, kShort)));  // and goes on
}

// --- check() itself: what it must reject ---------------------------------------------------------

times plausible() {
  times t;
  t.first_ms = 10, t.second_ms = 20, t.both_ms = 30;
  t.launched_ms = 0.1, t.asked_ms = 0.2, t.waited_ms = 31;
  t.too_early = true;
  t.first_cycles = 1001, t.second_cycles = 2001;
  return t;
}

TEST(Check, TakesTimesThatAddUp) { EXPECT_TRUE(matches(check(plausible(), 1000, 2000))); }

TEST(Check, RefusesTimesThatCannotBe) {
  const auto refuses = [](auto change) {
    times t = plausible();
    change(t);
    return !check(t, 1000, 2000).ok;
  };
  EXPECT_TRUE(refuses([](times& t) { t = times{}; }));
  EXPECT_TRUE(refuses([](times& t) { t.first_ms = std::numeric_limits<float>::quiet_NaN(); }));
  EXPECT_TRUE(refuses([](times& t) { t.second_ms = -20; }));
  EXPECT_TRUE(refuses([](times& t) { t.both_ms = 29; }));
  EXPECT_TRUE(refuses([](times& t) { t.both_ms = 31; }));
  EXPECT_TRUE(refuses([](times& t) { t.second_cycles = 1999; }));
  EXPECT_TRUE(refuses([](times& t) { t.first_cycles = 1'000'000'000; }));
  EXPECT_TRUE(refuses([](times& t) { t.waited_ms = 29; }));
  EXPECT_TRUE(refuses([](times& t) { t.waited_ms = 0.15; }));
}

TEST(Check, RefusesATimeThatIsToldTooEarly) {
  times t = plausible();
  t.first_cycles = t.second_cycles = 10'000'000;  // 1 ms at 10 GHz, and more on a GPU
  ASSERT_TRUE(check(t, 10'000'000, 10'000'000).ok);
  t.too_early = false;
  EXPECT_FALSE(check(t, 10'000'000, 10'000'000).ok);
}

FAULT_TEST_P(Measure, ReportsEveryCallThatFails) {
  expect_failures_reported([] { return matches(check(measure(1000, 3000), 1000, 3000)); });
}

}  // namespace
