// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The tests' own main(): does it fail what it should? Each case starts this program again with one
// case chosen and LAB_TEST_MISBEHAVE set; the child then does what must not be done.

#include <cuda_runtime.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "current_device.hpp"
#include "full_size.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/new_memory.hpp"
#include "lab/time_kernel.hpp"
#include "lab_testing.hpp"

#ifdef __CPU_DEVICE__
extern "C" void __tsan_read4(void* address);
#endif

namespace {

bool misbehaving() { return std::getenv("LAB_TEST_MISBEHAVE") != nullptr; }

struct outcome {
  int code = -1;
  std::string output;
};

/// Runs the case of this name, with variables such as "A=1 B=2" in its environment.
outcome run_again(const std::string& name, const std::string& variables,
                  const std::string& options = "") {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = "env -u CPU_DEVICE_ORDER -u GTEST_REPEAT -u LAB_REQUIRE_GPU " +
                              variables + " '" + program + "' --gtest_filter=" + name + " " +
                              options + " 2>&1";
  outcome result;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return result;
  std::array<char, 4096> part;
  while (std::fgets(part.data(), static_cast<int>(part.size()), pipe) != nullptr)
    result.output += part.data();
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
  return result;
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

#ifdef __CPU_DEVICE__
TEST(TestMain, FillsNewMemoryWithOtherBytesInEachRun) {
  static int before = -1;
  unsigned char *device = nullptr, now = 0;
  CUDA_CHECK(cudaMalloc(&device, 1));
  CUDA_CHECK(cudaMemcpy(&now, device, 1, cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaFree(device));
  EXPECT_NE(now, before);
  EXPECT_EQ(now, lab::detail::new_memory_byte);
  before = now;
}
#endif

#ifdef __CPU_DEVICE__
TEST(TestMain, MakesAnotherDeviceCurrentInTheSecondRun) {
  if (misbehaving()) {
    static const int first = lab::testing::current_device();
    EXPECT_EQ(lab::testing::current_device(), first);
    return;
  }
  const std::string name = "TestMain.MakesAnotherDeviceCurrentInTheSecondRun";
  const outcome result = run_again(name, "LAB_TEST_MISBEHAVE=1");
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(occurrences(result.output, "(thread order:"), 1U) << result.output;
  EXPECT_NE(result.output.find("(thread order: reverse, device 1 is current)"), std::string::npos)
      << result.output;
  for (const char* one : {" CPU_DEVICE_COUNT=1", " LAB_TEST_DEVICE=0"})
    EXPECT_EQ(run_again(name, std::string("LAB_TEST_MISBEHAVE=1") + one).code, 0) << one;
}

TEST(TestMain, RepeatsTimedLaunchesInTheSecondRun) {
  if (misbehaving()) {
    int launches = 0;
    (void)lab::time_kernel([&] { ++launches; });
    EXPECT_EQ(launches, 1);
    return;
  }
  const std::string name = "TestMain.RepeatsTimedLaunchesInTheSecondRun";
  const outcome result = run_again(name, "LAB_TEST_MISBEHAVE=1");
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(occurrences(result.output, "(thread order:"), 1U) << result.output;
  EXPECT_NE(result.output.find("(thread order: reverse,"), std::string::npos) << result.output;
  EXPECT_EQ(run_again(name, "LAB_TEST_MISBEHAVE=1 LAB_TEST_LAUNCHES=1").code, 0);
}

TEST(TestMain, FailsATestAfterWhichAnotherDeviceIsCurrent) {
  if (misbehaving()) {
    CUDA_CHECK(cudaSetDevice(0));
    return;
  }
  const outcome result =
      run_again("TestMain.FailsATestAfterWhichAnotherDeviceIsCurrent", "LAB_TEST_MISBEHAVE=1");
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(occurrences(result.output, "device 0 is current after this test; it was device 1"), 1U)
      << result.output;
}
#endif

TEST(TestMain, PassesAnEmptyTest) {
  if (misbehaving()) return;
  const outcome result = run_again("TestMain.PassesAnEmptyTest", "LAB_TEST_MISBEHAVE=1");
  EXPECT_EQ(result.code, 0) << result.output;
}

TEST(TestMain, FailsWithoutADeviceOnlyWhereOneIsRequired) {
  if (misbehaving()) return;
  const std::string name = "TestMain.FailsWithoutADeviceOnlyWhereOneIsRequired";
  const std::string no_device = "LAB_TEST_MISBEHAVE=1 CUDA_VISIBLE_DEVICES=";
  const outcome skipped = run_again(name, no_device);
  EXPECT_EQ(skipped.code, 77) << skipped.output;
  EXPECT_NE(skipped.output.find("SKIPPED: there is no "), std::string::npos) << skipped.output;
  const outcome failed = run_again(name, no_device + " LAB_REQUIRE_GPU=1");
  EXPECT_EQ(failed.code, 1) << failed.output;
  EXPECT_NE(failed.output.find("LAB_REQUIRE_GPU"), std::string::npos) << failed.output;
}

TEST(TestMain, ListsItsTestsWithoutADevice) {
  const outcome result = run_again("TestMain.*", "CUDA_VISIBLE_DEVICES=", "--gtest_list_tests");
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_EQ(occurrences(result.output, "ListsItsTestsWithoutADevice"), 1u) << result.output;
}

TEST(TestMain, PrintsWhatAComparisonFound) {
  if (misbehaving()) {
    EXPECT_TRUE(lab::testing::matches({false, "3 of 257 elements differ"}));
    return;
  }
  const outcome result = run_again("TestMain.PrintsWhatAComparisonFound", "LAB_TEST_MISBEHAVE=1");
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.output.find("3 of 257 elements differ"), std::string::npos) << result.output;
}

TEST(TestMain, SaysOfAnExceptionAtFullSizeThatNoOtherOrderOfThreadsWasTried) {
  if (misbehaving()) {
    lab::testing::expect_at_full_size([] { throw lab::invalid_input("too large"); });
    return;
  }
  const outcome result =
      run_again("TestMain.SaysOfAnExceptionAtFullSizeThatNoOtherOrderOfThreadsWasTried",
                "LAB_TEST_MISBEHAVE=1");
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.output.find("one thread order only"), std::string::npos) << result.output;
}

#ifdef __CPU_DEVICE__

TEST(TestMain, FailsATestThatLeavesDeviceMemoryAllocated) {
  if (misbehaving()) {
    void *memory = nullptr, *freed = nullptr;
    CUDA_CHECK(cudaMalloc(&memory, 1000));
    CUDA_CHECK(cudaMalloc(&freed, 2000));
    CUDA_CHECK(cudaFree(freed));
    return;
  }
  const outcome result =
      run_again("TestMain.FailsATestThatLeavesDeviceMemoryAllocated", "LAB_TEST_MISBEHAVE=1");
  EXPECT_EQ(result.code, 1);
  for (const char* said : {"leaves memory allocated: 1 allocation, 1000 bytes; the newest is",
                           "is device memory (1000 bytes, allocated at "})
    EXPECT_NE(result.output.find(said), std::string::npos) << result.output;
}

TEST(TestMain, FailsATestThatLeavesAStreamOrAnEvent) {
  if (misbehaving()) {
    cudaStream_t stream = nullptr;
    CUDA_CHECK(cudaStreamCreate(&stream));
    cudaEvent_t event = nullptr, destroyed = nullptr;
    CUDA_CHECK(cudaEventCreate(&event));
    CUDA_CHECK(cudaEventCreate(&destroyed));
    CUDA_CHECK(cudaEventDestroy(destroyed));
    return;
  }
  const outcome result = run_again("TestMain.FailsATestThatLeavesAStreamOrAnEvent",
                                   "LAB_TEST_MISBEHAVE=1", "--gtest_repeat=1");
  EXPECT_EQ(result.code, 1);
  for (const char* what : {"streams that nobody destroys: 1", "events that nobody destroys: 1"})
    EXPECT_NE(result.output.find(what), std::string::npos) << result.output;
}

TEST(TestMain, FailsATestThatLeavesATextureOrASurface) {
  if (misbehaving()) {
    const cudaChannelFormatDesc a_float = cudaCreateChannelDesc<float>();
    cudaResourceDesc memory = {};
    memory.resType = cudaResourceTypeArray;
    CUDA_CHECK(cudaMallocArray(&memory.res.array.array, &a_float, 8, 8, cudaArraySurfaceLoadStore));
    const cudaTextureDesc how = {};
    cudaTextureObject_t texture = 0, destroyed = 0;
    CUDA_CHECK(cudaCreateTextureObject(&texture, &memory, &how, nullptr));
    CUDA_CHECK(cudaCreateTextureObject(&destroyed, &memory, &how, nullptr));
    CUDA_CHECK(cudaDestroyTextureObject(destroyed));
    cudaSurfaceObject_t surface = 0;
    CUDA_CHECK(cudaCreateSurfaceObject(&surface, &memory));
    CUDA_CHECK(cudaFreeArray(memory.res.array.array));  // the objects stay
    return;
  }
  const outcome result = run_again("TestMain.FailsATestThatLeavesATextureOrASurface",
                                   "LAB_TEST_MISBEHAVE=1", "--gtest_repeat=1");
  EXPECT_EQ(result.code, 1);
  for (const char* what :
       {"texture objects that nobody destroys: 1", "surface objects that nobody destroys: 1"})
    EXPECT_NE(result.output.find(what), std::string::npos) << result.output;
  EXPECT_EQ(result.output.find("device memory allocated"), std::string::npos) << result.output;
}

void reads_nothing(const int*) {}

/// Launches a kernel with a host pointer, as a program behind the rewriter would.
void make_the_cpu_device_report() {
  const int on_the_host = 0;
  const cpu_device::launcher launch{{"reads_nothing", __FILE__, __LINE__},
                                    {dim3(1), dim3(1), 0, nullptr}};
  launch.typed (&reads_nothing)(&on_the_host);
}

TEST(TestMain, FailsATestDuringWhichTheCpuDeviceReported) {
  if (misbehaving()) {
    make_the_cpu_device_report();
    return;
  }
  const outcome result = run_again("TestMain.FailsATestDuringWhichTheCpuDeviceReported",
                                   "LAB_TEST_MISBEHAVE=1", "--gtest_repeat=1");
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.output.find("the CPU device reported a mistake in this test, the last one:\n"),
            std::string::npos)
      << result.output;
  EXPECT_EQ(occurrences(result.output, "is a host pointer"), 2u) << result.output;
}

TEST(TestMain, LetsAnAnnouncedReportPass) {
  if (misbehaving()) {
    lab::testing::expect_reports();
    make_the_cpu_device_report();
    return;
  }
  const outcome result =
      run_again("TestMain.LetsAnAnnouncedReportPass", "LAB_TEST_MISBEHAVE=1", "--gtest_repeat=1");
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_EQ(occurrences(result.output, "is a host pointer"), 1u) << result.output;
}

TEST(TestMain, FailsATestWhoseReportDoesNotCome) {
  if (misbehaving()) {
    lab::testing::expect_reports();
    return;
  }
  const outcome result =
      run_again("TestMain.FailsATestWhoseReportDoesNotCome", "LAB_TEST_MISBEHAVE=1");
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.output.find("but there was none"), std::string::npos) << result.output;
}

/// As in the check build, before the host reads: reported once for this place in the program.
[[gnu::noinline]] void read_device_memory_on_the_host() {
  int* memory = nullptr;
  CUDA_CHECK(cudaMalloc(&memory, sizeof(int)));
  __tsan_read4(memory);
  CUDA_CHECK(cudaFree(memory));
}

TEST(ToldOnce, A) {
  if (misbehaving()) read_device_memory_on_the_host();
}

TEST(ToldOnce, B) {
  if (misbehaving()) read_device_memory_on_the_host();
}

TEST(ToldOnce, FailsEachTestInWhichItHappens) {
  if (misbehaving()) return;
  const outcome result = run_again("ToldOnce.*", "LAB_TEST_MISBEHAVE=1", "--gtest_repeat=1");
  EXPECT_EQ(occurrences(result.output, "reported a mistake in this test"), 2U) << result.output;
}

void writes(int* to) { *to = 1; }

// The first breaks the device; the third runs all of them again.
TEST(BrokenDevice, A) {
  if (!misbehaving()) return;
  int* memory = nullptr;
  CUDA_CHECK(cudaMalloc(&memory, sizeof(int)));
  const cpu_device::launcher launch{{"writes", __FILE__, __LINE__}, {dim3(1), dim3(1), 0, nullptr}};
  launch.typed (&writes)(nullptr);
  EXPECT_EQ(cudaFree(memory), cudaErrorIllegalAddress);
}

TEST(BrokenDevice, B) {
  if (!misbehaving()) return;
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST(BrokenDevice, IsRepairedForTheNextTest) {
  if (misbehaving()) return;
  const outcome result = run_again("BrokenDevice.*", "LAB_TEST_MISBEHAVE=1", "--gtest_repeat=1");
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(occurrences(result.output, "[       OK ]"), 2u) << result.output;
  EXPECT_EQ(occurrences(result.output, "the CPU device reported"), 1u) << result.output;
  EXPECT_EQ(occurrences(result.output, "leaves device memory"), 0u) << result.output;
}

void never_ends(volatile int* stop) {
  while (*stop == 0) {
  }
}

TEST(EndlessKernel, A) {
  if (!misbehaving()) return;
  int* stop = nullptr;
  ASSERT_EQ(cudaMalloc(&stop, sizeof(int)), cudaSuccess);
  CUDA_CHECK(cudaMemset(stop, 0, sizeof(int)));
  const cpu_device::launcher launch{{"never_ends", __FILE__, __LINE__},
                                    {dim3(1), dim3(1), 0, nullptr}};
  launch.typed (&never_ends)(stop);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchTimeout);
}

TEST(EndlessKernel, B) {
  if (misbehaving()) std::puts("B was run");
}

TEST(EndlessKernel, IsTheLastThatIsRun) {
  if (misbehaving()) return;
  const outcome result =
      run_again("EndlessKernel.*", "LAB_TEST_MISBEHAVE=1 CPU_DEVICE_TIME_LIMIT=1");
  EXPECT_EQ(result.code, 1);
  // In the other two orders it is not waited for again.
  EXPECT_EQ(occurrences(result.output, "CPU device: stopped kernel"), 1u) << result.output;
  EXPECT_EQ(occurrences(result.output, "B was run"), 0u) << result.output;
}

TEST(TestMain, RunsEveryTestInThreeOrdersAndSaysInWhichItFailed) {
  if (misbehaving()) {
    ADD_FAILURE() << "on purpose";
    return;
  }
  const std::string name = "TestMain.RunsEveryTestInThreeOrdersAndSaysInWhichItFailed";
  const outcome all = run_again(name, "LAB_TEST_MISBEHAVE=1");
  for (const char* order : {"forward", "reverse, device 1 is current", "random, seed 2"})
    EXPECT_EQ(occurrences(all.output, std::string("(thread order: ") + order + ")"), 1u)
        << all.output;
  const outcome once = run_again(name, "LAB_TEST_MISBEHAVE=1", "--gtest_repeat=1");
  EXPECT_EQ(occurrences(once.output, "(thread order: "), 1u) << once.output;
  const outcome chosen = run_again(name, "LAB_TEST_MISBEHAVE=1 CPU_DEVICE_ORDER=reverse");
  EXPECT_EQ(occurrences(chosen.output, "on purpose"), 1u) << chosen.output;
  const outcome first = run_again(name, "LAB_TEST_MISBEHAVE=1", "--gtest_fail_fast");
  EXPECT_EQ(first.code, 1);
  EXPECT_EQ(occurrences(first.output, "on purpose"), 1u) << first.output;
  EXPECT_EQ(occurrences(first.output, "1 FAILED TEST"), 1u) << first.output;
}

#endif

}  // namespace
