// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// printf, assert and traps in kernels, clocks, loads and stores with a cache hint. Runs on the CPU
// device and on a GPU.

#undef NDEBUG  // assertions are what is tested
#include <assert.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "conformance.hpp"

#ifdef __CPU_DEVICE__  // as NVIDIA's helper_math.h has it for other compilers
inline int max(int a, int b) { return a > b ? a : b; }
inline int min(int a, int b) { return a < b ? a : b; }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
// C++20 has one in the global namespace, where nvcc's usual C++17 has none.
inline float lerp(float a, float b, float t) { return a + t * (b - a) + 100; }
#endif

namespace {

using namespace conformance;

__global__ void add_scaled(float* data, int n, float factor = 3, const float* more = nullptr) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < max(n, 0)) data[i] += factor * (more != nullptr ? more[i] : 1.0f);
}

TEST(Launch, LeavesOutDefaultArguments) {
  const device_array<float> data(4, 1.0f), more(4, 10.0f);
  add_scaled<<<1, 4>>>(data.data(), 3);
  EXPECT_EQ(data.to_host(), (std::vector<float>{4, 4, 4, 1}));
  add_scaled<<<1, 4>>>(data.data(), 4, 2);
  EXPECT_EQ(data.to_host(), (std::vector<float>{6, 6, 6, 3}));
  add_scaled<<<1, 4>>>(data.data(), 1, 1, more.data());
  EXPECT_EQ(data.to_host(), (std::vector<float>{16, 6, 6, 3}));
}

#ifdef __CPU_DEVICE__
__global__ void interpolate(float* data) {
  using namespace std;
  data[threadIdx.x] = lerp(1.0f, 3.0f, static_cast<float>(threadIdx.x));
}

TEST(Lerp, OfTheProgramIsCalledAndThatOfTheLibraryIsThere) {
  const device_array<float> data(3, 0.0f);
  interpolate<<<1, 3>>>(data.data());
  EXPECT_EQ(data.to_host(), (std::vector<float>{101, 103, 105}));
  static_assert(std::lerp(1.0, 3.0, 2) == 5);
  EXPECT_EQ(std::lerp(1.0f, 3.0f, 2.0f), 5);
}
#endif

#if defined(__CUDACC__)
constexpr bool kIsDeviceCodeCompiled = true;
#else
constexpr bool kIsDeviceCodeCompiled = false;
#endif

TEST(Conditions, AskingForACudaCompilerHold) { EXPECT_TRUE(kIsDeviceCodeCompiled); }

__global__ void say_architecture(int* is_at_least) {
#if __CUDA_ARCH__ >= 700
  is_at_least[0] = 1;
#endif
#if __CUDA_ARCH__ < 700
  is_at_least[1] = 1;
#endif
}

TEST(Conditions, KnowTheArchitecture) {
  int major = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), cudaSuccess);
  const device_array<int> is_at_least(2, 0);
  say_architecture<<<1, 1>>>(is_at_least.data());
  EXPECT_EQ(is_at_least.to_host(), (std::vector<int>{major >= 7, major < 7}));
#ifdef __CPU_DEVICE__
  int minor = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0), cudaSuccess);
  EXPECT_EQ(__CPU_DEVICE_ARCH__, major * 100 + minor * 10);
#endif
}

TEST(Malloc, TakesPointersToConstants) {
  const float* constants = nullptr;
  ASSERT_EQ(cudaMalloc(&constants, 16), cudaSuccess);
  EXPECT_EQ(cudaFree(const_cast<float*>(constants)), cudaSuccess);
}

__global__ void print_lines() {
  printf("block %u thread %u pi %.3f %s|\n", blockIdx.x, threadIdx.x, 3.14159, "end");
}

TEST(Printf, LinesOfConcurrentBlocksAreWhole) {
  testing::internal::CaptureStdout();
  print_lines<<<200, 32>>>();
  const cudaError_t status = cudaDeviceSynchronize();
  std::printf("after\n");  // the host's output follows that of the kernel it waited for
  std::fflush(stdout);
  std::istringstream text(testing::internal::GetCapturedStdout());
  EXPECT_EQ(status, cudaSuccess);
  std::vector<std::string> lines, expected;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  for (int b = 0; b < 200; ++b)
    for (int t = 0; t < 32; ++t)
      expected.push_back("block " + std::to_string(b) + " thread " + std::to_string(t) +
                         " pi 3.142 end|");
  ASSERT_EQ(lines.size(), expected.size() + 1);
  EXPECT_EQ(lines.back(), "after");
  lines.pop_back();
  std::sort(lines.begin(), lines.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(lines, expected);
}

// A failed assertion ends the CUDA context, so these run in processes of their own.

__global__ void assert_small(int limit) {
  assert(static_cast<int>(threadIdx.x) < limit && "too many threads");
}
[[noreturn]] void launch_and_say(int limit) {
  assert_small<<<2, 64>>>(limit);
  const cudaError_t status = cudaDeviceSynchronize();
  std::fprintf(stderr, "status: %s\n", cudaGetErrorName(status));
  std::exit(0);
}

TEST(AssertDeathTest, AFailureInAKernelNamesItselfAndIsAnError) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(launch_and_say(40), testing::ExitedWithCode(0), "status: cudaErrorAssert");
  EXPECT_EXIT(launch_and_say(40), testing::ExitedWithCode(0), "too many threads");
  EXPECT_EXIT(launch_and_say(40), testing::ExitedWithCode(0), "kernel_functions_test.cu:");
#ifdef __CPU_DEVICE__
  EXPECT_EXIT(launch_and_say(40), testing::ExitedWithCode(0), "thread \\(40,0,0\\)");
  EXPECT_EXIT(launch_and_say(40), testing::ExitedWithCode(0), "block \\([01],0,0\\)");
#endif
}
TEST(AssertDeathTest, IsSilentWhileItHolds) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(launch_and_say(64), testing::ExitedWithCode(0), "^status: cudaSuccess");
}
TEST(AssertDeathTest, OfTheHostIsAsEver) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const int two = 2;
  EXPECT_EXIT(assert(two == 3), testing::KilledBySignal(SIGABRT), "two == 3");
}

__global__ void trap_in(unsigned thread) {
  if (threadIdx.x == thread) __trap();
}
[[noreturn]] void trap_and_say() {
  trap_in<<<1, 64>>>(33);
  std::fprintf(stderr, "status: %d\n", static_cast<int>(cudaDeviceSynchronize()));
  std::exit(0);
}
TEST(TrapDeathTest, EndsTheLaunch) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(trap_and_say(), testing::ExitedWithCode(0), "status: 7[0-9][0-9]");
}

__global__ void measure(long long* clocks, int* data) {
  clocks[0] = clock64();
  for (int i = 0; i < 1000; ++i) atomicAdd(data, i);
  clocks[1] = clock64();
}
TEST(Clock, Runs) {
  const device_array<long long> clocks(2, 0LL);
  const device_array<int> data(1, 0);
  measure<<<1, 1>>>(clocks.data(), data.data());
  const auto c = clocks.to_host();
  EXPECT_GT(c[1], c[0] + 100);
}

__global__ void spin(long long ticks, long long* clocks) {
  const clock_t first = clock();
  const long long begin = clock64();
  while (clock64() - begin < ticks) {
  }
  clocks[0] = static_cast<unsigned>(clock() - first);  // a GPU's has 32 bits
  clocks[1] = clock64() - begin;
}
TEST(Clock, OfBothNamesIsOne) {
  const device_array<long long> clocks(2, 0LL);
  spin<<<1, 1>>>(1000000, clocks.data());
  const auto c = clocks.to_host();
  EXPECT_GE(c[0], 1000000);
  EXPECT_LE(c[0], c[1] * 2);
}

#ifdef __CPU_DEVICE__
TEST(Clock, OfTheHostCountsItsProcessorTime) {
  const auto microseconds = [] {
    timespec used;
    EXPECT_EQ(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used), 0);
    return static_cast<clock_t>(used.tv_sec) * 1000000 + static_cast<clock_t>(used.tv_nsec) / 1000;
  };
  static_assert(CLOCKS_PER_SEC == 1000000);
  const clock_t before = microseconds();
  const clock_t now = clock();
  EXPECT_LE(before, now);
  EXPECT_LE(now, microseconds());
}
#endif

__global__ void copy_with_hints(const int* in, int* out, const float4* in4, float4* out4) {
  out[0] = __ldg(in);
  out[1] = __ldca(in + 1);
  __stcg(out + 2, __ldcg(in + 2));
  __stcs(out + 3, __ldcs(in + 3));
  __stwb(out + 4, __ldlu(in + 4));
  __stwt(out + 5, __ldcv(in + 5));
  *out4 = __ldg(in4);
  __builtin_assume(out[0] == 1);
}
TEST(LoadsAndStores, WithHintsMoveTheValues) {
  const device_array<int> in(std::vector<int>{1, 2, 3, 4, 5, 6}), out(6, 0);
  const device_array<float4> in4(1, float4{1, 2, 3, 4}), out4(1, float4{});
  copy_with_hints<<<1, 1>>>(in.data(), out.data(), in4.data(), out4.data());
  EXPECT_EQ(out.to_host(), in.to_host());
  const float4 v = out4.to_host()[0];
  EXPECT_TRUE(v.x == 1 && v.y == 2 && v.z == 3 && v.w == 4);
}

}  // namespace
