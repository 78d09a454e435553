// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "hello_gpu.hpp"

#include <cuda_runtime.h>
#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#endif

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "fault_tests.hpp"
#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"

namespace {

using lab::hello_gpu::check;
using lab::hello_gpu::greet;
using lab::hello_gpu::kMostLines;
using lab::testing::at_other_sizes;
using lab::testing::expect_failures_reported;
using lab::testing::matches;
using lab::testing::reports_refused_launch;
using lab::testing::work_of;

/// What one call of greet() prints; everything, since the output is read when it has returned.
std::string printed_by(unsigned blocks, unsigned threads) {
  ::testing::internal::CaptureStdout();
  try {
    greet(blocks, threads);
  } catch (...) {
    (void)::testing::internal::GetCapturedStdout();
    throw;
  }
  return ::testing::internal::GetCapturedStdout();
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(AKernelWithAThreadForEachLine) {
  const lab::testing::work done = work_of([] { return matches(check(printed_by(3, 64), 3, 64)); });
  EXPECT_TRUE(as_required(done, {.threads = 3 * 64, .blocks = 3, .only_shape = true}));
  const auto greets = [](unsigned n) { return matches(check(printed_by(n, n + 1), n, n + 1)); };
  EXPECT_TRUE(at_other_sizes(greets, {.only_shape = true}));
  EXPECT_TRUE(as_required(work_of([] { return matches(check(printed_by(1, 1), 1, 1)); }),
                          {.threads = 1, .only_shape = true}));
}

REQUIRED_WORK(TheGridThatWasRequested) {
  const lab::testing::work done = work_of([] { return matches(check(printed_by(3, 64), 3, 64)); });
  EXPECT_TRUE(std::any_of(done.kernels.begin(), done.kernels.end(), [](const auto& kernel) {
    return kernel.blocks == 3 && kernel.threads_per_block == 64;
  })) << "no launch had 3 blocks of 64 threads, as was requested";
}

REQUIRED_WORK(ItsOwnLineFromEachThread) {
#ifdef __CPU_DEVICE__
  std::set<std::string> outputs;
  std::uint64_t barriers = 0;  // with those, threads may agree on an order
  for (const auto order : {cpu_device::thread_order::forward, cpu_device::thread_order::reverse}) {
    cpu_device::set_thread_order(order);
    const lab::testing::work done = work_of([&] {
      outputs.insert(printed_by(1, 33));
      return true;
    });
    for (const auto& kernel : done.kernels) barriers += kernel.barriers;
  }
  EXPECT_TRUE(outputs.size() == 2 || barriers > 0)
      << "the lines of a block come in the same order, whichever of its threads runs first: does "
         "one thread print them all, or the host?";
#endif
}

/// Whether this call has what kernels have printed written out, on a GPU: the CUDA C++ Programming
/// Guide lists these, and a query is none of them.
bool writes_out_what_kernels_print(const std::string& call) {
  return call.ends_with("Synchronize") || call == "cudaStreamAddCallback" ||
         call == "cudaDeviceReset" ||
         (call.starts_with("cudaMemcpy") && call.find("Async") == std::string::npos);
}

REQUIRED_WORK(ACallAfterTheLaunchThatWritesOutTheBufferOfAGpu) {
  // (The CPU device writes each line at once.)
  const lab::testing::work done = work_of([] { return matches(check(printed_by(2, 5), 2, 5)); });
  EXPECT_TRUE(as_required(done, {.threads = 2 * 5, .blocks = 2, .only_shape = true}));
  const auto launch =
      std::find_if(done.sequence.rbegin(), done.sequence.rend(),
                   [](const std::string& call) { return call.starts_with("cudaLaunch"); });
  EXPECT_TRUE(std::any_of(done.sequence.rbegin(), launch, writes_out_what_kernels_print))
      << "nothing waits for the kernel by a call such as cudaDeviceSynchronize: a GPU keeps the "
         "lines in its buffer until then, even if the kernel has ended";
}

// --- one line per thread -------------------------------------------------------------------------

struct launch {
  unsigned blocks, threads;
};
std::string name_of(const ::testing::TestParamInfo<launch>& test) {
  return std::to_string(test.param.blocks) + "_blocks_of_" + std::to_string(test.param.threads);
}

class Greeting : public ::testing::TestWithParam<launch> {};

// Blocks and threads differ, so that they cannot be mixed up; around a warp (32), the largest block
// (1024), and the most lines.
INSTANTIATE_TEST_SUITE_P(Launch, Greeting,
                         ::testing::Values(launch{2, 5}, launch{5, 2}, launch{1, 1}, launch{1, 2},
                                           launch{2, 1}, launch{1, 31}, launch{1, 32},
                                           launch{1, 33}, launch{33, 1}, launch{3, 257},
                                           launch{13, 11}, launch{1, 1023}, launch{1, 1024},
                                           launch{1025, 1}, launch{8, 1024}, launch{kMostLines, 1}),
                         name_of);

TEST_P(Greeting, IsOneLineFromEveryThread) {
  const auto [blocks, threads] = GetParam();
  const std::string printed = printed_by(blocks, threads);
  EXPECT_TRUE(matches(check(printed, blocks, threads)));
  EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), long{blocks} * threads);
}

TEST(Greetings, SayWhatTheContractSays) {
  EXPECT_EQ(printed_by(1, 1), "Hello from block 0, thread 0\n");
}

TEST(Greetings, AreTheSameTheSecondTime) {
  EXPECT_TRUE(matches(check(printed_by(3, 4), 3, 4)));
  EXPECT_TRUE(matches(check(printed_by(3, 4), 3, 4)));
}

// --- the host waits ------------------------------------------------------------------------------

/// While there is one, kernels run as late as CUDA allows: when the host waits for them.
struct late_kernels {
#ifdef __CPU_DEVICE__
  late_kernels() { cpu_device::set_stream_policy(cpu_device::stream_policy::deferred); }
  ~late_kernels() { cpu_device::set_stream_policy(cpu_device::stream_policy::eager); }
#endif
};

TEST(Greetings, ArePrintedBeforeTheFunctionReturns) {
  std::string printed;
  {
    [[maybe_unused]] const late_kernels late;
    printed = printed_by(2, 5);
  }
  EXPECT_TRUE(matches(check(printed, 2, 5)));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

// --- refusals ------------------------------------------------------------------------------------

class BadLaunch : public ::testing::TestWithParam<launch> {};
INSTANTIATE_TEST_SUITE_P(Launch, BadLaunch,
                         ::testing::Values(launch{0, 1}, launch{1, 0}, launch{0, 0},
                                           launch{0, 4294967295U}, launch{1, 1025}, launch{7, 1025},
                                           launch{1, kMostLines}),
                         name_of);

TEST_P(BadLaunch, IsCudasErrorAndPrintsNothing) {
  const auto [blocks, threads] = GetParam();
  ::testing::internal::CaptureStdout();
  cudaError_t code = cudaSuccess;
  std::string file;
  try {
    greet(blocks, threads);
  } catch (const lab::cuda_error& error) {
    code = error.code();
    file = error.file();
  } catch (const lab::not_written&) {
    (void)::testing::internal::GetCapturedStdout();
    throw;
  }
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_TRUE(reports_refused_launch(code));
  EXPECT_TRUE(code == cudaSuccess || file.ends_with(".cu")) << file;  // the student's has that name
  EXPECT_EQ(cudaGetLastError(), cudaSuccess)
      << "an error was left in the runtime: the next launch check would report it";
}

TEST(Greetings, WorkAgainAfterABadLaunch) {
  EXPECT_THROW(printed_by(1, 1025), lab::cuda_error);
  EXPECT_TRUE(matches(check(printed_by(2, 5), 2, 5)));
}

TEST(Greetings, OfTooManyThreadsAreRefused) {
  constexpr unsigned kLargest = std::numeric_limits<unsigned>::max();
  EXPECT_THROW(printed_by(kMostLines + 1, 1), lab::invalid_input);
  EXPECT_THROW(printed_by(9, 1000), lab::invalid_input);
  EXPECT_THROW(printed_by(kLargest, kLargest), lab::invalid_input);
}

// --- the check itself ----------------------------------------------------------------------------

TEST(Check, RejectsWhatIsMissingTwiceOrStrange) {
  const std::string a = "Hello from block 0, thread 0\n", b = "Hello from block 0, thread 1\n";
  EXPECT_TRUE(check(a + b, 1, 2));
  EXPECT_TRUE(check(b + a, 1, 2));
  EXPECT_FALSE(check("", 1, 2));
  EXPECT_FALSE(check(a, 1, 2));
  EXPECT_FALSE(check(a + a, 1, 2));
  EXPECT_FALSE(check(a + b + b, 1, 2));
  EXPECT_FALSE(check(a + b + "\n", 1, 2));
  EXPECT_FALSE(check(a + b.substr(0, b.size() - 1), 1, 2));
  EXPECT_FALSE(check(a + b, 2, 1));
}

TEST(Check, SaysWhenTheTwoNumbersAreSwapped) {
  const std::string lines = "Hello from block 0, thread 0\nHello from block 1, thread 0\n";
  EXPECT_NE(check(lines, 1, 2).message.find("swapped"), std::string::npos);
  EXPECT_EQ(check(lines, 1, 3).message.find("swapped"), std::string::npos);
  EXPECT_EQ(check("", 1, 2).message.find("swapped"), std::string::npos);
}

FAULT_TEST(Greetings, AreAnErrorWhereACallFails) {
  expect_failures_reported([] { return matches(check(printed_by(2, 5), 2, 5)); });
}

}  // namespace
