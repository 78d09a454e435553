// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "error_handling.hpp"

#include <cuda_runtime.h>
#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "fault_tests.hpp"
#include "lab/closeness.hpp"
#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"

namespace {

using lab::error_handling::check_code;
using lab::error_handling::checked;
using lab::error_handling::expected_function;
using lab::error_handling::failed_call;
using lab::error_handling::failure;
using lab::error_handling::is_lost;
using lab::error_handling::is_named;
using lab::error_handling::is_refused_launch;
using lab::error_handling::kMostNumbers;
using lab::error_handling::mistake;
using lab::error_handling::number;
using lab::error_handling::numbering;
using lab::error_handling::provoke;
using lab::error_handling::reference_threads;
using lab::error_handling::reference_values;
using lab::testing::at_other_sizes;
using lab::testing::expect_failures_reported;
using lab::testing::matches;
using lab::testing::work_of;
using lab::testing::work_without_values;

struct named_mistake {
  mistake value;
  const char* name;
};
constexpr named_mistake kHarmless[] = {{mistake::invalid_value, "invalid_value"},
                                       {mistake::invalid_pointer, "invalid_pointer"},
                                       {mistake::bad_direction, "bad_direction"},
                                       {mistake::bad_configuration, "bad_configuration"},
                                       {mistake::out_of_memory, "out_of_memory"}};

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

/// Leaves an error in the runtime, like a call whose return value is ignored.
void leave_an_error() { (void)cudaMalloc(static_cast<void**>(nullptr), 4); }

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(CallsThatReallyFail) {
  const std::pair<mistake, const char*> made[] = {{mistake::invalid_value, "cudaMalloc"},
                                                  {mistake::invalid_pointer, "cudaFree"},
                                                  {mistake::bad_direction, "cudaMemcpy"},
                                                  {mistake::bad_configuration, "cudaLaunchKernel"},
                                                  {mistake::out_of_memory, "cudaMalloc"}};
  for (const auto& [kind, function] : made)
    EXPECT_TRUE(as_required(work_of([&, kind = kind] { return provoke(kind).has_value(); }),
                            {.kernels = 0, .calls = {function}}));
}

REQUIRED_WORK(AKernelThatWritesTheNumbers) {
  const auto writes = [](std::size_t n) {
    const numbering made = number(n, 4096);
    return made.threads == 1024 && made.values == reference_values(n);
  };
  const lab::testing::work done = work_of([&] { return writes(5000); });
  EXPECT_TRUE(as_required(done, {.threads = 1024,
                                 .blocks = 2,
                                 .fetched = 5000 * sizeof(unsigned),
                                 .writes = 5000 * sizeof(unsigned)}));
  EXPECT_EQ(done.calls.at("cudaLaunchKernel"), 3U) << "with 4096, 2048 and 1024 threads per block";
  EXPECT_TRUE(at_other_sizes(writes, {.threads = 1, .fetched = 1, .writes = 1}, {3, 40}));
}

REQUIRED_WORK(AFurtherCallByIsLost) {
  // The last error is what an earlier call has met; whether the device is lost, a further one says.
  const auto done = work_without_values([] { EXPECT_FALSE(is_lost()); });
  ASSERT_TRUE(as_required(done, {.kernels = 0}));
  EXPECT_TRUE(std::any_of(done.calls.begin(), done.calls.end(), [](const auto& call) {
    return call.first != "cudaGetLastError" && call.first != "cudaPeekAtLastError";
  })) << "nothing is called that would fail if the device were lost";
}

#ifdef __CPU_DEVICE__
TEST(Requires, ABlockThatIsTooLarge) {
  // CUDA has the same error for a grid without blocks; the CPU device prints what was wrong.
  if (!lab::testing::detail::has_the_device()) GTEST_SKIP() << "another process prints it";
  const auto done = work_of([] { return provoke(mistake::bad_configuration).has_value(); });
  ASSERT_TRUE(as_required(done, {.kernels = 0}));
  ::testing::internal::CaptureStderr();
  (void)provoke(mistake::bad_configuration);  // which throws nothing, as has just been seen
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(said.find("the block") != std::string::npos &&
              said.find("is too large") != std::string::npos)
      << "that was no block of more threads than a block may have: " << said;
}
#endif

// --- the macro -----------------------------------------------------------------------------------

class EachError : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(
    Code, EachError,
    ::testing::Values(cudaErrorInvalidValue, cudaErrorMemoryAllocation,
                      cudaErrorInvalidConfiguration, cudaErrorInvalidMemcpyDirection,
                      cudaErrorInvalidDevice, cudaErrorInvalidResourceHandle, cudaErrorNotReady,
                      cudaErrorIllegalAddress, cudaErrorLaunchFailure, cudaErrorUnknown),
    // Not by its name: that would start CUDA in the process that forks the one that runs the tests.
    [](const auto& test) { return "error_" + std::to_string(test.param); });

TEST_P(EachError, IsThrownWithItsNameAndItsText) {
  const checked got = check_code(GetParam());
  ASSERT_TRUE(got.thrown.has_value());
  const auto code = static_cast<cudaError_t>(GetParam());
  EXPECT_EQ(got.thrown->name, cudaGetErrorName(code));
  EXPECT_EQ(got.thrown->text, cudaGetErrorString(code));
}

TEST_P(EachError, IsThrownWithTheCallAndItsPlace) {
  const checked got = check_code(GetParam());
  ASSERT_TRUE(got.thrown.has_value());
  EXPECT_EQ(got.thrown->call, "call()");
  EXPECT_TRUE(ends_with(got.thrown->file, "error_handling.cu")) << got.thrown->file;
  EXPECT_GT(got.thrown->line, 0);
}

TEST_P(EachError, TakesOneCall) { EXPECT_EQ(check_code(GetParam()).calls, 1); }

TEST(Check, LetsSuccessPass) {
  const checked got = check_code(cudaSuccess);
  EXPECT_FALSE(got.thrown.has_value());
  EXPECT_EQ(got.calls, 1);
}

TEST(Check, KnowsItsLine) {
  // Even numbers are checked in the if, odd ones in the else, two lines further down.
  const auto even = check_code(cudaErrorMemoryAllocation), odd = check_code(cudaErrorInvalidValue);
  ASSERT_TRUE(even.thrown && odd.thrown);
  EXPECT_EQ(odd.thrown->line, even.thrown->line + 2);
}

TEST(Check, TakesTheErrorOutOfTheRuntime) {
  leave_an_error();
  ASSERT_EQ(cudaPeekAtLastError(), cudaErrorInvalidValue);
  const checked got = check_code(cudaErrorInvalidDevice);
  ASSERT_TRUE(got.thrown.has_value());
  EXPECT_EQ(got.thrown->name, "cudaErrorInvalidDevice") << "the error that the call has returned";
  EXPECT_EQ(cudaGetLastError(), cudaSuccess)
      << "an error was left in the runtime: the next launch check would report it";
}

TEST(Check, LeavesTheRuntimesErrorAloneWhereItsOwnCallSucceeds) {
  leave_an_error();
  (void)check_code(cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue)
      << "nothing else happens: the error of another call is not CHECK's to take out";
}

// --- mistakes ------------------------------------------------------------------------------------

class Harmless : public ::testing::TestWithParam<named_mistake> {};
INSTANTIATE_TEST_SUITE_P(Mistake, Harmless, ::testing::ValuesIn(kHarmless),
                         [](const auto& test) { return test.param.name; });

TEST_P(Harmless, HasItsName) {
  const auto got = provoke(GetParam().value);
  ASSERT_TRUE(got.has_value()) << "no exception was thrown";
  EXPECT_TRUE(is_named(GetParam().value, got->name)) << got->name;
}

/// Whether a call returns the error of a launch. (cudaLaunchKernel and its like do so themselves.)
bool says_what_a_launch_met(const std::string& call) {
  return call == "cudaGetLastError()" || call == "cudaPeekAtLastError()" ||
         call.starts_with("cudaLaunch");
}

TEST_P(Harmless, IsFoundInTheCallThatMakesIt) {
  const auto got = provoke(GetParam().value);
  ASSERT_TRUE(got.has_value()) << "no exception was thrown";
  EXPECT_TRUE(GetParam().value == mistake::bad_configuration
                  ? says_what_a_launch_met(got->call)
                  : got->call.starts_with(expected_function(GetParam().value) + "("))
      << got->call;
  EXPECT_TRUE(ends_with(got->file, "error_handling.cu")) << got->file;
}

TEST_P(Harmless, IsForgottenByTheRuntime) {
  (void)provoke(GetParam().value);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess)
      << "an error was left in the runtime: the next launch check would report it";
}

TEST_P(Harmless, LeavesADeviceThatWorks) {
  (void)provoke(GetParam().value);
  EXPECT_FALSE(is_lost());
  EXPECT_TRUE(matches(lab::compare_exact(number(1000, 128).values, reference_values(1000))));
}

TEST(Harmless, AllHavePlacesOfTheirOwn) {
  std::set<int> lines;
  for (const named_mistake& one : kHarmless)
    if (const auto got = provoke(one.value)) lines.insert(got->line);
  EXPECT_EQ(lines.size(), std::size(kHarmless));
}

TEST(IsLost, TellsALastErrorFromAStickyOne) {
  EXPECT_FALSE(is_lost()) << "nothing has happened";
  leave_an_error();
  EXPECT_FALSE(is_lost()) << "the error has been asked for, and is gone";
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "is_lost() takes it out";
}

#ifdef __CPU_DEVICE__
TEST(IsLost, DoesNotTakeABusyDeviceForALostOne) {
  if (!lab::testing::detail::has_the_device()) GTEST_SKIP() << "another process is busy";
  cpu_device::set_stream_policy(cpu_device::stream_policy::deferred);  // until the host waits
  CUDA_CHECK(cudaLaunchHostFunc(
      nullptr, [](void*) {}, nullptr));
  EXPECT_FALSE(is_lost()) << "what is not ready yet has not failed";
}
#endif

// --- a sticky error: it costs a process its device, so this happens in another process -----------

[[noreturn]] void follow_a_null_pointer_and_say() {
#ifdef __CPU_DEVICE__
  // As on a GPU, the kernel has not finished when the launch returns.
  cpu_device::set_stream_policy(cpu_device::stream_policy::deferred);
#endif
  try {
    const auto got = provoke(mistake::illegal_address);
    std::fprintf(stderr, "RESULT %s in %s, %s", got ? got->name.c_str() : "nothing",
                 got ? got->call.c_str() : "-", is_lost() ? "lost" : "not lost");
    std::fprintf(stderr, ", then %s", is_lost() ? "lost" : "not lost");
    int* memory = nullptr;
    std::fprintf(stderr, ", cudaMalloc: %s\n", cudaGetErrorName(cudaMalloc(&memory, 4)));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "RESULT %s\n", error.what());
  }
  std::fflush(stderr);
  std::_Exit(0);
}

TEST(StickyDeathTest, AKernelThatFollowsANullPointerCostsTheDevice) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process, not a copy of this one
  EXPECT_EXIT(follow_a_null_pointer_and_say(), ::testing::ExitedWithCode(0),
              "RESULT cudaErrorIllegalAddress in cuda[A-Za-z]+\\(.*\\), lost, then lost, "
              "cudaMalloc: cudaErrorIllegalAddress");
  EXPECT_FALSE(is_lost()) << "here, in this process";
}

[[noreturn]] void number_on_a_lost_device() {
  try {
    (void)provoke(mistake::illegal_address);
    (void)number(10, 1);
    std::fprintf(stderr, "RESULT no exception was thrown\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "RESULT %s\n", error.what());
  }
  std::fflush(stderr);
  std::_Exit(0);
}

TEST(StickyDeathTest, RecoveryPassesOnWhatItCannotHelp) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(number_on_a_lost_device(), ::testing::ExitedWithCode(0),
              "RESULT .*cudaErrorIllegalAddress");
}

// --- recovery ------------------------------------------------------------------------------------

unsigned largest_block() {
  int most = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxThreadsPerBlock, 0));
  return static_cast<unsigned>(most);
}

class Threads : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Block, Threads,
                         ::testing::Values(1, 2, 31, 32, 33, 255, 256, 1000, 1023, 1024, 1025, 2000,
                                           2047, 2048, 2049, 4000, 65'537, 1'000'003, 4294967295U),
                         [](const auto& test) { return std::to_string(test.param); });

TEST_P(Threads, NumberWhateverTheBlock) {
  for (const std::size_t n : {1, 2, 31, 32, 33, 1023, 1024, 1025, 5003}) {
    const numbering got = number(n, GetParam());
    EXPECT_TRUE(matches(lab::compare_exact(got.values, reference_values(n)))) << "n = " << n;
    EXPECT_EQ(cudaGetLastError(), cudaSuccess)
        << "an error was left in the runtime: the next launch check would report it";
  }
}

TEST_P(Threads, AreHalvedUntilTheyFit) {
  const numbering got = number(100, GetParam());
  EXPECT_EQ(got.threads, reference_threads(GetParam(), largest_block()));
  std::size_t halvings = 0;
  for (unsigned threads = GetParam(); threads > largest_block(); threads /= 2) ++halvings;
  ASSERT_EQ(got.refused.size(), halvings);
  for (const failure& each : got.refused) {
    EXPECT_TRUE(is_refused_launch(each.name)) << each.name;
    EXPECT_TRUE(says_what_a_launch_met(each.call)) << each.call;
  }
}

TEST(Numbers, OfNothingAreNone) {
  const numbering got = number(0, 4000);
  EXPECT_TRUE(got.values.empty());
  EXPECT_EQ(got.threads, 0U) << "there is nothing to launch";
  EXPECT_TRUE(got.refused.empty());
}

TEST(Numbers, NeedAThread) {
  EXPECT_THROW((void)number(10, 0), lab::invalid_input);
  EXPECT_THROW((void)number(0, 0), lab::invalid_input);
}

TEST(Numbers, ThatNoGridCanWriteAreRefused) {
  constexpr std::size_t kLargest = std::numeric_limits<std::size_t>::max();
  for (const std::size_t n : {kMostNumbers + 1, std::size_t{1} << 32, kLargest})
    EXPECT_THROW((void)number(n, 128), lab::invalid_input) << n;
}

#ifdef __CPU_DEVICE__
// On a device of one mebibyte, in another process, so that 8 GiB need not be written.

[[noreturn]] void number_as_many_as_one_launch_can() {
  try {
    (void)number(kMostNumbers, 128);
    std::fprintf(stderr, "RESULT no exception was thrown\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "RESULT %s\n", error.what());
  }
  std::fflush(stderr);
  std::_Exit(0);
}

TEST(NumbersDeathTest, ThatAGridCanWriteAreRefusedByTheMemoryOnly) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process, which looks at this:
  ASSERT_EQ(setenv("CPU_DEVICE_MEMORY_MB", "1", 1), 0);
  EXPECT_EXIT(number_as_many_as_one_launch_can(), ::testing::ExitedWithCode(0),
              "RESULT .*cudaErrorMemoryAllocation");
  unsetenv("CPU_DEVICE_MEMORY_MB");
}
#endif

// The check of a launch by <<<>>> finds an error that was left in the runtime. It cannot be
// distinguished from the launch's own, so it is handled by its name. cudaLaunchKernel returns its
// own error: then nothing is wrong with the launch.

void expect_first_launch_done(const numbering& got, unsigned threads, cudaError_t of_the_caller) {
  EXPECT_EQ(got.threads, threads) << "smaller blocks do not help against this";
  EXPECT_TRUE(got.refused.empty());
  EXPECT_EQ(got.values.size(), 100U);
  EXPECT_TRUE(matches(lab::compare_exact(got.values, reference_values(got.values.size()))));
  EXPECT_EQ(cudaGetLastError(), of_the_caller)
      << "an error that the caller had left in the runtime was taken out, and nobody is told of it";
}

TEST(Numbers, AreNotTriedAgainForAnErrorThatIsNoRefusal) {
  void* memory = nullptr;
  (void)cudaMalloc(&memory, std::size_t{1} << 50);
  ASSERT_EQ(cudaPeekAtLastError(), cudaErrorMemoryAllocation);
  try {
    expect_first_launch_done(number(100, 128), 128, cudaErrorMemoryAllocation);
  } catch (const failed_call& error) {
    EXPECT_EQ(error.why.name, "cudaErrorMemoryAllocation");
  }
  EXPECT_EQ(cudaGetLastError(), cudaSuccess)
      << "an error was left in the runtime: the next launch check would report it";
}

TEST(Numbers, AreNotTriedWithFewerThanOneThread) {
  leave_an_error();  // cudaErrorInvalidValue, the name of a refusal
  try {
    expect_first_launch_done(number(100, 1), 1, cudaErrorInvalidValue);
  } catch (const failed_call& error) {
    EXPECT_EQ(error.why.name, "cudaErrorInvalidValue");
  }
  EXPECT_EQ(cudaGetLastError(), cudaSuccess)
      << "an error was left in the runtime: the next launch check would report it";
}

FAULT_TEST(Numbers, AreNotTriedAgainWhereAnotherCallSaysInvalidValue) {
  // The name of a refusal, but no launch's.
  if (!lab::testing::detail::has_the_device())
    GTEST_SKIP() << "which calls fail is not ours to say";
  const auto done = work_without_values([] { (void)number(100, 128); });
  for (const auto& [function, times] : done.calls) {
    const bool releases =
        function.find("Free") != std::string::npos || function.find("Destroy") != std::string::npos;
    if (says_what_a_launch_met(function + "()") || releases) continue;
    const lab::testing::detail::next_call_fails fault(function, cudaErrorInvalidValue);
    EXPECT_ANY_THROW((void)number(100, 128))
        << "smaller blocks do not help against a " << function << " that fails";
    EXPECT_TRUE(fault.has_failed()) << function;
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << function << ": its error was left in the runtime";
  }
}

/// number(), whose errors have names instead of codes.
std::vector<unsigned> numbers_or_cuda_error() {
  try {
    return number(100, 32).values;
  } catch (const failed_call& error) {
    int code = 1;
    while (code < 1000 && error.why.name != cudaGetErrorName(static_cast<cudaError_t>(code)))
      ++code;
    throw lab::cuda_error(static_cast<cudaError_t>(code), error.why.call.c_str(),
                          error.why.file.c_str(), error.why.line);
  }
}

FAULT_TEST(Numbers, ReportEveryCallThatFails) { expect_failures_reported(numbers_or_cuda_error); }

}  // namespace
